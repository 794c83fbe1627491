import { readFileSync } from 'node:fs';
import { RuntimeServiceDefinition } from '../../gen/cri/v1/cri';
import { toNodeState } from '../../../src/kube/qos/node-resources';
import { lastCpu, type LogLine, waitUntil } from '../../e2e/rig';
import { readShares } from '../../e2e/rig/cgroup-files';
import { askDaemon } from '../../e2e/rig/status';
import {
  type ClusterNode,
  type ClusterPod,
  type ContainerTemplate,
  expectOwner,
  kubeletWithoutReservation,
  oneCpu,
  onOneNode,
  startNode,
} from '../rig';
import { KnownLoad } from './known-load';
import { collecting, OptionsFile, untilQuota } from './rig';

// Lent resources, with a real kubelet, runtime, scheduler and daemon. The load of the CPUs is the one thing that the
// test sets: other tests use the same machine, and on two busy CPUs nothing could be lent. Memory is that of the
// machine.

const { containerStatus } = RuntimeServiceDefinition.methods;

const MIB = 2 ** 20;
const GIB = 2 ** 30;
const CALM = 0.01; // one per cent of all CPUs leave all but one whole CPU, up to 99 CPUs
const allMilliCpu = 1000 * lastCpu;

const lending = [
  ...['--node-resource-window', '1m', '--node-resource-percentile', '50', '--node-resource-margin', '0%'],
  ...['--pod-resource', 'on'],
];

/** Requests and limits of extended resources are the same whole numbers. */
const borrowing = (memory: string): ContainerTemplate => ({
  name: 'main',
  more: { resources: { limits: { 'gocrane.io/cpu': '1', 'gocrane.io/memory': memory } } },
});

interface Shown {
  readonly node: { readonly lent: { readonly because: string } };
}

onOneNode('resources are lent', ({ suite, mode }) => {
  let node: ClusterNode;
  let load: KnownLoad;
  let options: OptionsFile;
  const memoryInUse: number[] = [];
  let sampling: NodeJS.Timeout;
  beforeAll(async () => {
    sampling = setInterval(() => memoryInUse.push(readMemoryInUse()), 100);
    load = new KnownLoad(CALM);
    options = new OptionsFile('node-resource: both\n');
    node = await startNode({
      suite,
      mode,
      kubelet: kubeletWithoutReservation,
      program: load.program,
      args: [...collecting, ...lending, '--config', options.path],
    });
  });
  afterAll(async () => {
    clearInterval(sampling);
    await node?.stop();
    load?.remove();
    options?.remove();
  });

  const state = async () => toNodeState(await node.read());
  const lent = async () => (await state()).lent;
  const untilCpuIs = async (milliCpu: number): Promise<void> => {
    let last: Awaited<ReturnType<typeof lent>> = {};
    const isSo = async (): Promise<boolean> => (last = await lent()).milliCpu === milliCpu;
    await waitUntil(`${milliCpu} thousandths of a CPU are lent`, isSo, 60_000, { everyMs: 10, seen: () => last });
  };
  /** The reason, as `cpusetd status` shows it. */
  const reason = async (): Promise<string> => {
    const status = JSON.parse(await askDaemon(node.daemon, 'status', '-o', 'json')) as Shown;
    return status.node.lent.because;
  };
  const changes = (from: number): readonly LogLine[] =>
    node.daemon.log.lines.slice(from).filter(({ msg }) => msg === 'what the node lends has changed');

  test('both resources are on the Node, in capacity and allocatable alike, and fit the use that /proc shows', async () => {
    await untilCpuIs(allMilliCpu);
    const { allocatable, lent: published } = await state();
    const { memoryBytes = 0 } = published;
    expect(allocatable.milliCpu).toBe(1000 * (lastCpu + 1));
    // Growth up to a tenth is not written, and use may have been measured between two samples.
    const left = memoryInUse.map((bytes) => allocatable.memoryBytes! - bytes);
    const slack = 256 * MIB;
    expect(memoryBytes).toBeGreaterThan(0.9 * Math.min(...left) - slack);
    expect(memoryBytes).toBeLessThan(Math.max(...left) + slack);
    expect(memoryBytes).toBeGreaterThan(0);
    expect(memoryBytes % (64 * MIB)).toBe(0);
    console.info(`[${suite}, ${mode}] ${memoryBytes / GIB} GiB and ${lastCpu} of ${lastCpu + 1} CPUs are lent`);
  });

  test('a container that gets an exclusive CPU: one CPU less is lent at once, and comes back when it ends', async () => {
    const from = node.daemon.mark();
    const createdAt = performance.now();
    const pod = await node.createPod({ containers: [oneCpu] });
    await untilCpuIs(allMilliCpu - 1000);
    const seenMs = performance.now() - createdAt;
    await expectOwner(node, pod);
    const log = node.daemon.log.lines.slice(from);
    const planned = log.find(({ msg, pod: name }) => msg === 'planned' && name === `${node.name}/${pod.name}`);
    const changed = changes(from).find(({ milliCpu }) => milliCpu === allMilliCpu - 1000);
    const reclaimMs = timeOf(changed) - timeOf(planned);
    console.info(
      `[${suite}, ${mode}] one CPU less is on the Node ${Math.round(seenMs)} ms after the pod was created, ` +
        `${reclaimMs} ms after cpusetd planned the exclusive CPU`,
    );
    expect(reclaimMs).toBeGreaterThanOrEqual(0);
    // A change that nobody tells it of would be found within a minute.
    expect(reclaimMs).toBeLessThan(30_000);
    await pod.delete();
    await untilCpuIs(allMilliCpu);
  });

  describe('given a pod that borrows one CPU', () => {
    let pod: ClusterPod;
    let before: { readonly containerID?: string };
    const goesOn = async (): Promise<void> => {
      const { containerID, restartCount } = await pod.container('main');
      expect([containerID, restartCount]).toEqual([before.containerID, 0]);
      expect((await pod.read()).status.phase).toBe('Running');
    };

    test('the scheduler sends it, and its container has the quota and the shares of one CPU, for kernel and runtime', async () => {
      pod = await node.runPod({ name: 'borrower', containers: [borrowing('100Mi')] });
      before = await pod.container('main');
      expect((await pod.read()).status.qosClass).toBe('BestEffort');
      await untilQuota(pod, 'one CPU', (us) => us === 100_000);
      expect(['shares 1024', 'weight 39', 'weight 100']).toContain(readShares(await pod.cgroup('main')));
      const request = { containerId: before.containerID!.replace(/^.*:\/\//, ''), verbose: false };
      const { status } = await node.runtime.kubelet.channel.call(containerStatus, request);
      expect(status?.resources?.linux).toMatchObject({ cpuQuota: 100_000n, cpuPeriod: 100_000n, cpuShares: 1024n });
      await goesOn();
    });

    test('with no CPU left, what it holds stays on the Node: no pod is sent any more, and a kubelet that starts keeps it', async () => {
      const pinned = await node.runPod({ name: 'pinned', containers: [oneCpu] });
      await expectOwner(node, pinned);
      load.set(1);
      await untilCpuIs(1000);
      await waitUntil('the reason names it', async () =>
        (await reason()).includes('; 1 is published, since pods hold it'),
      );
      const other = await node.createPod({ name: 'other', containers: [borrowing('1Mi')] });
      const unscheduled = await other.untilEvents('no node for it', (events) =>
        events.some(({ reason }) => reason === 'FailedScheduling'),
      );
      expect(unscheduled.map(({ message }) => message).join()).toMatch(/Insufficient gocrane\.io\/cpu/);
      await node.restart('kubelet');
      await node.ready(Date.now());
      await goesOn();
      expect((await lent()).milliCpu).toBe(1000);
      expect(await reason()).toContain('; 1 is published, since pods hold it');
      await expectOwner(node, pinned);
      await other.delete();
      await pinned.delete();
      load.set(CALM);
    });

    test('the end of cpusetd removes both; after a SIGKILL they stay, and the next start goes on with them', async () => {
      await node.daemon.stop('SIGTERM', 30_000);
      expect(await lent()).toEqual({});
      await node.start('cpusetd');
      await node.daemon.ready();
      await untilCpuIs(allMilliCpu);
      await node.kill('cpusetd');
      const left = await lent();
      expect(left).toMatchObject({ milliCpu: allMilliCpu, memoryBytes: expect.any(Number) });
      const from = node.daemon.mark();
      await node.restart('cpusetd');
      await waitUntil('the next start has decided', async () => (await reason()) !== '');
      expect((await lent()).milliCpu).toBe(allMilliCpu);
      expect(changes(from).filter(({ milliCpu }) => milliCpu !== allMilliCpu)).toEqual([]);
      await goesOn();
    });

    test('a start that lends CPUs alone removes memory, and one without the option after a SIGKILL removes the rest', async () => {
      await node.kill('cpusetd');
      options.change('node-resource: cpu\n');
      await node.restart('cpusetd');
      await waitUntil('no memory is lent', async () => (await lent()).memoryBytes === undefined, 60_000);
      expect((await lent()).milliCpu).toBe(allMilliCpu);
      await node.kill('cpusetd');
      options.change('node-resource: off\n');
      expect((await lent()).milliCpu).toBe(allMilliCpu);
      await node.restart('cpusetd');
      await waitUntil('none is lent', async () => Object.keys(await lent()).length === 0, 60_000, { everyMs: 50 });
      await goesOn();
      expect(await pod.quotaUs('main')).toBe(100_000);
    });
  });
});

const timeOf = (line: LogLine | undefined): number => Date.parse(String(line?.['time']));

function readMemoryInUse(): number {
  const text = readFileSync('/proc/meminfo', 'utf8');
  const bytesOf = (name: string): number => 1024 * Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1]);
  return bytesOf('MemTotal') - bytesOf('MemAvailable');
}
