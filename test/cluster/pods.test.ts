import { type ClusterNode, onEachNode, startNode } from './rig';
import { readStatus } from '../e2e/rig';

onEachNode('pods of each QoS class', ({ suite, mode }) => {
  let node: ClusterNode;
  beforeAll(async () => {
    node = await startNode({ suite, mode });
  });
  afterAll(() => node?.stop());
  afterEach(() => node.deletePods());

  test('Guaranteed, Burstable and BestEffort: the first has its CPU alone, from its first instruction on', async () => {
    const shared = await node.runPod({ name: 'best-effort', containers: [{ name: 'main' }] });
    const burstable = await node.runPod({
      name: 'burstable',
      containers: [{ name: 'main', requests: { memory: '32Mi' } }],
    });
    const guaranteed = await node.runPod({
      name: 'guaranteed',
      containers: [{ name: 'main', cpu: 1, memory: '64Mi' }],
    });
    expect(await guaranteed.firstLine('main')).toBe('1');
    expect((await guaranteed.cpuset('main')).cpus).toBe('1');
    expect(await guaranteed.masks('main')).toEqual(['1']);
    for (const pod of [shared, burstable]) expect(await pod.masks('main')).toEqual(['0']);
    const { containers } = await readStatus(node.daemon);
    expect(containers.filter(({ placement }) => placement === 'exclusive')).toHaveLength(1);
  });
});
