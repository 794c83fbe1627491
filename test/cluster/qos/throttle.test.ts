import { RuntimeServiceDefinition } from '../../gen/cri/v1/cri';
import { askDaemon, waitUntil } from '../../e2e/rig';
import { type ClusterNode, type ClusterPod, expectOwner, onEachNode, oneCpu, startNode } from '../rig';
import { always, burner, enforcing, isTainted, nodeEvents, noisy, readMemory, Rule, untilQuota } from './rig';

const { containerStatus } = RuntimeServiceDefinition.methods;

const matrix = {
  dependsOn: 'runtime',
  because: 'The runtime carries the quota to the kernel, and keeps a record of it.',
} as const;

onEachNode('a noisy container is throttled', matrix, ({ suite, mode }) => {
  let node: ClusterNode;
  let rule: Rule | undefined;
  beforeAll(async () => {
    node = await startNode({ suite, mode, ...enforcing });
  });
  afterAll(async () => {
    await rule?.delete();
    await node?.stop();
  });

  /** The quota in the runtime's own record. */
  const recordedQuota = async (pod: ClusterPod): Promise<bigint | undefined> => {
    const { containerID = '' } = await pod.container('main');
    const request = { containerId: containerID.replace(/^.*:\/\//, ''), verbose: false };
    const { status } = await node.runtime.kubelet.channel.call(containerStatus, request);
    return status?.resources?.linux?.cpuQuota;
  };

  /** The steps down that the daemon tells of, the first one first. All in µs. */
  const readSteps = async (pod: ClusterPod) => {
    const shown = JSON.parse(await askDaemon(node.daemon, 'status', '-o', 'json')) as {
      node: { qos: { recent: readonly { action: string; subject: string; because: string }[] } };
    };
    const shownActions = shown.node.qos.recent
      .filter(({ action, subject }) => action === 'throttle' && subject.includes(pod.name))
      .reverse();
    return shownActions.map(({ because }) => {
      const [, from, to, use] =
        /quota from (none|\d+)(?: us)? to (\d+) us .*?(?:its use of (\d+) us)?$/.exec(because) ?? [];
      return {
        from: from === 'none' ? from : Number(from),
        to: Number(to),
        ...(use !== undefined && { use: Number(use) }),
        isLast: because.includes('which is its minimum: its request'),
      };
    });
  };

  test('step by step, never below its request; kernel and runtime agree; the Node is tainted; all is undone when the rule is gone', async () => {
    const pinned = await node.runPod({ labels: noisy, containers: [oneCpu] });
    await expectOwner(node, pinned);
    // Far less than it uses, however busy the machine is.
    const pod = await node.runPod({ labels: noisy, containers: [{ ...burner, requests: { cpu: '20m' } }] });
    const before = await pod.container('main');
    expect(await pod.quotaUs('main')).toBe(-1);
    rule = await Rule.create(node, { ...always(pod), throttle: { minCPURatio: 1, stepCPURatio: 50 } });

    const seen = new Set<number>();
    // The last step may leave up to 1 %: a smaller one is not taken.
    const least = await untilQuota(pod, 'that of its request', (us) => us > 0 && seen.add(us) && us <= 2_020);
    // A runtime records a value after it has written it.
    await waitUntil('the runtime has recorded it', async () => (await recordedQuota(pod)) === BigInt(least));
    expect(least).toBeGreaterThanOrEqual(2_000);
    expect(seen.size).toBeGreaterThan(1);
    // Each step goes on from the one before, and takes half of its quota, or of its use where that is less: a busy
    // machine gives it less.
    const [throttle] = readMemory(node).throttles;
    const steps = await readSteps(pod);
    for (const [index, { from, to, use, isLast }] of steps.entries()) {
      expect(from).toBe(steps[index - 1]?.to ?? 'none');
      const half = (use ?? (index === 0 ? 100 * throttle!.baseMilliCpu : Number(from))) / 2;
      expect(Math.abs(to - (isLast ? 2_000 : half))).toBeLessThanOrEqual(1);
    }
    expect(steps.map(({ to }) => to)).toEqual(expect.arrayContaining([...seen]));
    await waitUntil('the Node is tainted', () => isTainted(node));
    expect((await node.condition('interference-identified'))?.status).toBe('True');
    const [event] = await nodeEvents(node, 'AvoidanceTriggered');
    expect(event?.message).toBe(`${rule.name}/rule triggered action ${rule.name}`);
    // It has the label too, and a whole CPU: no quota, and the same CPU.
    expect(await pinned.quotaUs('main')).toBe(-1);
    await expectOwner(node, pinned);

    await rule.delete();
    await untilQuota(pod, 'as before', (us) => us === -1);
    await waitUntil('the Node has no taint', async () => !(await isTainted(node)));
    await waitUntil(
      'the condition is False',
      async () => (await node.condition('interference-identified'))?.status === 'False',
    );
    expect((await pod.container('main')).containerID).toBe(before.containerID);
    expect((await pod.container('main')).restartCount).toBe(0);
    await waitUntil(
      'nothing is remembered but the budget',
      () => readMemory(node).throttles.length === 0 && !readMemory(node).tainted,
    );
  });
});
