import { spawnSync } from 'node:child_process';
import { renameSync } from 'node:fs';
import {
  askDaemon,
  bundle,
  cpusetDirOf,
  type Daemon,
  exclusiveList,
  lastCpu,
  onlineCpus,
  onRuntimes,
  poll,
  readStatus,
  type Runtime,
  type RunningContainer,
  startDaemon,
  startRuntime,
} from './rig';

jest.setTimeout(300_000);

onRuntimes(['sid'], 'a kubelet with the driver systemd, and a runtime with cgroupfs', (suite) => {
  let runtime: Runtime;
  let daemon: Daemon;
  beforeAll(async () => {
    runtime = await startRuntime({ suite, nri: true, kubeletDriver: 'systemd' });
  });
  afterAll(async () => {
    // The runtime's own cleaning looks below its cgroup: these containers are beside it.
    await runtime?.kubelet.removePods();
    await runtime?.stop();
  });
  afterEach(() => daemon?.dispose());

  const verdictOf = async ({ id }: RunningContainer): Promise<string> => {
    const { verdict } = (await readStatus(daemon)).containers.find((container) => container.id === id)!;
    return `${verdict.kind}: ${verdict.reason}`;
  };
  const becomesKept = (container: RunningContainer): Promise<true> =>
    poll('the verdict kept', async () => ((await verdictOf(container)).startsWith('kept') ? true : undefined));

  test.each([
    ['written by cpusetd', 'on'],
    ['written by the runtime', 'off'],
  ])('containers are kept, and a foreign write is seen and repaired; cpusets %s', async (_name, writes) => {
    daemon = startDaemon({
      runtime,
      args: ['--reserved-cpus', '0', '--reconcile-period', '1h', '--cgroup-writes', writes],
    });
    await daemon.ready();
    const sharedPod = await runtime.kubelet.runPod({ containers: [{ name: 'web', cpuRequestMilli: 100 }] });
    const web = await sharedPod.startContainer('web');
    expect(web.cgroupPath).toMatch(/^\/[^/]+\.slice:cri-containerd:[0-9a-f]{64}$/);
    expect(web.cpuset().cpus).toBe(onlineCpus);
    const pod = await runtime.kubelet.runPod({ containers: [{ name: 'db', cpus: lastCpu }] });
    const db = await pod.startContainer('db');
    expect([db.cpuset().cpus, web.cpuset().cpus]).toEqual([exclusiveList, '0']);
    for (const container of [db, web]) await becomesKept(container);
    await daemon.waitForLog(({ msg }) => msg?.startsWith('the runtime makes cgroups elsewhere') === true);

    const { status, finding } = checkContainers(runtime);
    expect([status, finding]).toMatchObject([
      1,
      { level: 'error', remedy: expect.stringMatching(/same cgroup driver/) },
    ]);
    expect(finding?.text).toMatch(
      /^2 of 2 running containers elsewhere; container \w+: its cgroup is \/.*\.slice:cri-/,
    );

    db.writeCpuset('0');
    expect(await daemon.waitForLog('drifted')).toMatchObject({ promised: exclusiveList, found: '0' });
    await poll('the repair', () => (db.cpuset().cpus === exclusiveList ? true : undefined));
    await becomesKept(db);
    expect(await askDaemon(daemon, 'status')).toMatch(/promises +ok/);
    for (const each of [pod, sharedPod]) await each.remove();
  });

  test('a restart finds running containers again', async () => {
    daemon = startDaemon({ runtime, args: ['--reserved-cpus', '0', '--reconcile-period', '1h'] });
    await daemon.ready();
    const pod = await runtime.kubelet.runPod({ containers: [{ name: 'db', cpus: lastCpu }] });
    const db = await pod.startContainer('db');
    await becomesKept(db);
    await daemon.kill();
    db.writeCpuset('0');
    daemon.start();
    await daemon.ready();
    await poll('the repair', () => (db.cpuset().cpus === exclusiveList ? true : undefined));
    await becomesKept(db);
    await pod.remove();
  });

  test('a container whose cgroup is nowhere is unknown, with an alarm, until it is found; one that ends is neither', async () => {
    daemon = startDaemon({ runtime, args: ['--reserved-cpus', '0', '--reconcile-period', '2s'] });
    await daemon.ready();
    const pod = await runtime.kubelet.runPod({ containers: [{ name: 'db', cpus: lastCpu }] });
    const db = await pod.startContainer('db');
    await becomesKept(db);
    const place = cpusetDirOf(db.cgroupPath);
    const hidden = cpusetDirOf('/hidden-by-a-test');
    renameSync(place, hidden); // version 1 allows that
    try {
      const verdict = await poll('the verdict unknown', async () => {
        const text = await verdictOf(db);
        return text.startsWith('unknown') ? text : undefined;
      });
      expect(verdict).toMatch(/its cgroup is not at .*different cgroup drivers; it runs so for more than 10 s/);
      const { node } = await readStatus(daemon);
      expect(node.alarms.map(({ kind }) => kind)).toEqual(['cgroup-not-found']);
      const promises = /^promises +(\S+)/m.exec(await askDaemon(daemon, 'status'));
      expect(promises?.[1]).toBe('error');
    } finally {
      renameSync(hidden, place);
    }
    await becomesKept(db);
    await poll('the end of the alarm', async () =>
      (await readStatus(daemon)).node.alarms.length === 0 ? true : undefined,
    );
    await db.stop();
    await poll('the end of the container', async () =>
      (await readStatus(daemon)).containers.every(({ id }) => id !== db.id) ? true : undefined,
    );
    expect(daemon.log.lines.filter(({ msg }) => msg === 'alarm')).toHaveLength(1);
    await pod.remove();
  });
});

interface Finding {
  readonly check: string;
  readonly level: string;
  readonly text: string;
  readonly remedy?: string;
}

/** The exit status of `cpusetd check`, and its finding on the cgroups of running containers. */
function checkContainers(runtime: Runtime): { status: number; finding: Finding | undefined } {
  const sockets = ['--nri-socket', runtime.nriSocket, '--cri-endpoint', runtime.criSocket];
  const args = [bundle, 'check', '-o', 'json', '--reserved-cpus', '0', ...sockets];
  const { status, stdout } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'] },
  });
  const { findings } = JSON.parse(stdout) as { readonly findings: readonly Finding[] };
  return { status: status ?? -1, finding: findings.find(({ check }) => check === 'container-cgroups') };
}
