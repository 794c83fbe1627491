import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { waitUntil } from '../e2e/rig';
import {
  type ClusterNode,
  type ClusterPod,
  exclusiveCpu,
  expectOwner,
  onEachNode,
  oneCpu,
  reservedCpus,
  startNode,
} from './rig';

const alarm = 'kubelet-cpu-manager';

const matrix = {
  dependsOn: 'mode',
  because: "The kubelet's manager writes over the CRI, beside the plugin or through the proxy.",
} as const;

onEachNode("the kubelet's own CPU manager", matrix, ({ suite, mode }) => {
  let node: ClusterNode;
  beforeAll(async () => {
    node = await startNode({ suite, mode, kubelet: { cpuManagerReconcilePeriod: '1s' } });
  });
  afterAll(() => node?.stop());
  afterEach(() => node.deletePods());

  /** Restarts the kubelet with another CPU manager policy. It does not start beside the state of another policy. */
  async function setCpuManagerPolicy(cpuManagerPolicy: 'none' | 'static'): Promise<void> {
    await node.kubelet.kill();
    node.kubelet.configure({ cpuManagerPolicy });
    rmSync(stateFile());
    const since = Date.now();
    await node.kubelet.start();
    await node.ready(since);
  }
  const stateFile = (): string => join(node.kubelet.rootDir, 'cpu_manager_state');
  const idsOf = (pods: readonly ClusterPod[]): Promise<(string | undefined)[]> =>
    Promise.all(pods.map(async (pod) => (await pod.container('main')).containerID));

  test('switched to static and back: alarm, no container moves, a pod that the kubelet pins is refused until it is back', async () => {
    const shared = await node.runPod({ name: 'shared', containers: [{ name: 'main' }] });
    const pinned = await node.runPod({ name: 'pinned', containers: [oneCpu] });
    await expectOwner(node, pinned);
    const before = await idsOf([shared, pinned]);

    await setCpuManagerPolicy('static');
    await expectOwner(node, pinned, { alarm });
    await waitUntil("the kubelet's manager has given its CPU to the pod too", () => {
      const { entries = {} } = JSON.parse(readFileSync(stateFile(), 'utf8')) as { entries?: Record<string, object> };
      return JSON.stringify(entries[pinned.uid]) === JSON.stringify({ main: exclusiveCpu });
    });
    await expectOwner(node, pinned, { alarm });
    expect(await shared.masks('main')).toEqual([reservedCpus]);
    expect(await idsOf([shared, pinned])).toEqual(before);

    await pinned.delete();
    const next = await node.createPod({ name: 'next', containers: [oneCpu] });
    const refused = await next.until('the next pod is refused', ({ status }) =>
      (status.containerStatuses ?? []).some(({ state }) => state.waiting?.reason === 'CreateContainerError'),
    );
    expect(refused.status.containerStatuses?.[0]?.state.waiting?.message).toContain(
      'the static CPU manager policy of the kubelet pins it; set cpuManagerPolicy: none there',
    );
    await expectOwner(node, undefined, { isHeld: true, alarm });

    await setCpuManagerPolicy('none');
    await next.running();
    await expectOwner(node, next);
    expect(await idsOf([shared])).toEqual(before.slice(0, 1));
  });
});
