import {
  type Daemon,
  lastCpu,
  onlineCpus,
  onRuntimes,
  poll,
  printMaskThenSleep,
  readStatus,
  type Runtime,
  type RunningContainer,
  type ShownContainer,
  startDaemon,
  startRuntime,
} from './rig';

jest.setTimeout(300_000);

const web = { name: 'web', cpuRequestMilli: 100, command: printMaskThenSleep };
const db = { name: 'db', cpus: 1, command: printMaskThenSleep };
const exclusiveCpu = String(lastCpu);
const reserved = lastCpu === 1 ? '0' : `0-${lastCpu - 1}`;
const daemonArgs = ['--reserved-cpus', reserved, '--leave-alone', 'alone', '--left-alone-start', 'untouched'];

/**
 * The annotations of a pod of the workload in scripts/runtime/crio-config.mjs, which has CPU 0; `cpus`: other ones for
 * a container.
 */
const workload = (cpus: Readonly<Record<string, string>> = {}): Record<string, string> => ({
  'target.workload.example/management': '',
  ...Object.fromEntries(
    Object.entries(cpus).map(([name, cpuset]) => [`resources.workload.example/${name}`, JSON.stringify({ cpuset })]),
  ),
});

const shownOf = async (daemon: Daemon, { id }: RunningContainer): Promise<ShownContainer | undefined> =>
  (await readStatus(daemon)).containers.find((shown) => shown.id === id);

onRuntimes(['crio'], 'CPUs of a workload of CRI-O, before a plugin', (suite) => {
  let runtime: Runtime;
  let daemon: Daemon;
  beforeAll(async () => {
    runtime = await startRuntime({ suite, nri: true });
    daemon = startDaemon({ runtime, args: daemonArgs });
    await daemon.ready();
  });
  afterAll(async () => {
    await daemon?.dispose();
    await runtime?.stop();
  });
  afterEach(() => runtime.kubelet.removePods());

  test('a container that shares keeps them from its first instruction on, beside an exclusive one, and after a restart of cpusetd', async () => {
    const owner = await (await runtime.kubelet.runPod({ containers: [db] })).startContainer('db');
    const shared = await (
      await runtime.kubelet.runPod({ containers: [web], annotations: workload() })
    ).startContainer('web');
    expect(await shared.firstLine()).toBe('0');
    const expectBoth = async (): Promise<void> => {
      expect([owner, shared].map((container) => container.cpuset().cpus)).toEqual([exclusiveCpu, '0']);
      expect(await shownOf(daemon, owner)).toMatchObject({
        promise: { cpus: exclusiveCpu },
        verdict: { kind: 'kept' },
      });
      expect(await shownOf(daemon, shared)).toMatchObject({
        placement: 'shared',
        promise: { cpus: '0' },
        verdict: { kind: 'kept', reason: 'kept to CPUs 0, which its request brought' },
      });
    };
    await expectBoth();
    await daemon.kill();
    daemon.start();
    await daemon.ready();
    await expectBoth();
  });

  test('a container that shares gets none that another owns, and has them when the owner is gone', async () => {
    const owners = await runtime.kubelet.runPod({ containers: [db] });
    await owners.startContainer('db');
    const annotations = workload({ web: exclusiveCpu });
    const shared = await (await runtime.kubelet.runPod({ containers: [web], annotations })).startContainer('web');
    expect(await shared.firstLine()).toBe(reserved);
    expect((await shownOf(daemon, shared))?.verdict.reason).toContain(
      `its request brought CPUs ${exclusiveCpu}, and all of them are offline or others own them: it runs on ${reserved}`,
    );
    await owners.remove();
    await poll('its own CPUs', () => (shared.cpuset().cpus === exclusiveCpu ? true : undefined));
  });

  test('a container that asks for exclusive CPUs gets them among those, or is refused with the reason', async () => {
    const fits = await runtime.kubelet.runPod({ containers: [db], annotations: workload({ db: exclusiveCpu }) });
    expect(await (await fits.startContainer('db')).firstLine()).toBe(exclusiveCpu);
    await fits.remove();
    const unfit = await runtime.kubelet.runPod({ containers: [db], annotations: workload() });
    await expect(unfit.startContainer('db')).rejects.toThrow('its request brought CPUs 0, and is kept to them');
  });

  test('a container that is left alone has them, exclusive ones too', async () => {
    await (await runtime.kubelet.runPod({ containers: [db] })).startContainer('db');
    const pod = { containers: [web], annotations: workload({ web: onlineCpus }), namespace: 'alone' };
    const left = await (await runtime.kubelet.runPod(pod)).startContainer('web');
    expect(await left.firstLine()).toBe(onlineCpus);
    const reason = await poll('its verdict', async () => {
      const shown = await shownOf(daemon, left);
      return shown?.verdict.reason.includes('it may run on') ? shown : undefined;
    });
    expect(reason).toMatchObject({
      placement: 'left-alone',
      verdict: {
        kind: 'left-alone',
        reason: `left alone: the operator's rule alone says so; it may run on CPUs ${exclusiveCpu}, which others own`,
      },
    });
    expect(reason.promise).toBeUndefined();
    expect(left.cpuset().cpus).toBe(onlineCpus);
  });
});

// CRI-O takes the workload's CPUs in place of those in the request of the proxy.
onRuntimes(['crio'], 'CPUs of a workload of CRI-O, behind the proxy', (suite) => {
  let runtime: Runtime;
  let daemon: Daemon;
  beforeAll(async () => {
    runtime = await startRuntime({ suite, nri: false });
    daemon = startDaemon({ runtime, args: ['--mode', 'cri-proxy', ...daemonArgs] });
    await daemon.ready();
  });
  afterAll(async () => {
    await daemon?.dispose();
    await runtime?.stop();
  });

  test('a container starts on them; right after its start it has those that cpusetd promised, and the log says why', async () => {
    const kubelet = runtime.kubeletAt(daemon.criListen);
    const owner = await (await kubelet.runPod({ containers: [db] })).startContainer('db');
    const annotations = workload({ web: exclusiveCpu });
    const shared = await (await kubelet.runPod({ containers: [web], annotations })).startContainer('web');
    await daemon.waitForLog(
      ({ msg, promised, found }) => msg === 'drifted' && promised === reserved && found === exclusiveCpu,
    );
    expect([owner, shared].map((container) => container.cpuset().cpus)).toEqual([exclusiveCpu, reserved]);
    expect(await shownOf(daemon, shared)).toMatchObject({ promise: { cpus: reserved }, verdict: { kind: 'kept' } });
    await kubelet.removePods();
  });
});
