import { onlineCpus } from '../e2e/rig';
import {
  type ClusterNode,
  type ClusterPod,
  type ContainerStatus,
  exclusiveCpu,
  expectOwner,
  onEachNode,
  oneCpu,
  startNode,
} from './rig';

const matrix = {
  dependsOn: 'runtime',
  because:
    'The runtime carries the update of a running container to NRI and to the kernel, and reports what it has recorded.',
} as const;

onEachNode('in-place resize of a running pod', matrix, ({ suite, mode }) => {
  let node: ClusterNode;
  beforeAll(async () => {
    node = await startNode({ suite, mode });
  });
  afterAll(() => node?.stop());
  afterEach(() => node.deletePods());

  /** Resizes the container and waits until the kubelet reports that it is done. */
  async function resize(pod: ClusterPod, cpu: string): Promise<ContainerStatus> {
    const before = await countCompleted(pod);
    await pod.resize('main', cpu);
    await pod.until(`the kubelet has resized to ${cpu}`, ({ status: { conditions = [], containerStatuses = [] } }) => {
      const [main] = containerStatuses;
      return main?.resources?.requests?.['cpu'] === cpu && !conditions.some(({ type }) => type.startsWith('PodResize'));
    });
    await pod.untilEvents(`ResizeCompleted`, (events) => count(events) > before);
    return pod.container('main');
  }
  const count = (events: readonly { reason: string }[]): number =>
    events.filter(({ reason }) => reason === 'ResizeCompleted').length;
  const countCompleted = async (pod: ClusterPod): Promise<number> => count(await pod.events());

  test('1 CPU to 500m and back: its CPU is given back and owned again, without a restart', async () => {
    const pod = await node.runPod({ containers: [oneCpu] });
    await expectOwner(node, pod);
    const before = await pod.container('main');
    expect(await pod.quotaUs('main')).toBe(-1);
    expect(before.resources?.limits?.['cpu']).toBe('1');

    const half = await resize(pod, '500m');
    await expectOwner(node, undefined);
    expect(half.containerID).toBe(before.containerID);
    expect(half.resources?.limits?.['cpu']).toBe('500m');
    expect((await pod.cpuset('main')).cpus).toBe(onlineCpus);
    expect(await pod.quotaUs('main')).toBe(50_000);

    const whole = await resize(pod, '1');
    await expectOwner(node, pod);
    expect(whole.containerID).toBe(before.containerID);
    expect((await pod.cpuset('main')).cpus).toBe(exclusiveCpu);
    expect(await pod.quotaUs('main')).toBe(-1);
    // A lifted quota shows the kubelet no limit, and it keeps the last one that it saw: docs/policies.md#cpu-quota.
    expect(whole.resources?.limits?.['cpu']).toBe('500m');

    await pod.killProcesses('main');
    const after = await pod.restarted(whole);
    expect(after.status.containerStatuses?.[0]?.resources?.limits?.['cpu']).toBe('1');
    await expectOwner(node, pod);
  });

  test('500m to 1 CPU: the container gets a CPU of its own, and shared ones leave it', async () => {
    const shared = await node.runPod({ containers: [{ name: 'main' }] });
    const pod = await node.runPod({ containers: [{ name: 'main', cpu: '500m', memory: '64Mi' }] });
    await expectOwner(node, undefined);
    for (const each of [pod, shared]) expect((await each.cpuset('main')).cpus).toBe(onlineCpus);
    await resize(pod, '1');
    await expectOwner(node, pod);
    expect(await pod.quotaUs('main')).toBe(-1);
  });

  test('200m to 600m to 300m: the container stays shared, and its CPU quota follows', async () => {
    const pod = await node.runPod({ containers: [{ name: 'main', cpu: '200m', memory: '64Mi' }] });
    for (const [cpu, quotaUs] of [
      ['600m', 60_000],
      ['300m', 30_000],
    ] as const) {
      expect((await resize(pod, cpu)).resources?.limits?.['cpu']).toBe(cpu);
      expect(await pod.quotaUs('main')).toBe(quotaUs);
      await expectOwner(node, undefined);
    }
  });
});
