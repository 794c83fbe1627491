import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import { MAX_REPAIRS } from '../../src/core/verdict/repair-backoff';
import { formatKubeletState } from '../../src/state/kubelet-checkpoint';
import {
  askDaemon,
  type Daemon,
  defineOnce,
  exclusiveList,
  findFreePort,
  lastCpu,
  type LogLine,
  onlineCpus,
  poll,
  quotaFileOf,
  readQuotaUs,
  readStatus,
  replaceFile,
  onEachRuntime,
  type Runtime,
  type RunningContainer,
  type ShownContainer,
  startDaemon,
  startRuntime,
  waitUntil,
} from './rig';

jest.setTimeout(300_000);

const shared = { name: 'web', cpuRequestMilli: 100 };
const pinned = { name: 'db', cpus: lastCpu };

async function containerOf(daemon: Daemon, { id }: RunningContainer): Promise<ShownContainer> {
  return (await readStatus(daemon)).containers.find((container) => container.id === id)!;
}

/** Writes another cpuset into the cgroup of a container all the time. */
function fight(container: RunningContainer, cpus: string): { readonly writes: () => number; stop(): void } {
  let writes = 0;
  const timer = setInterval(() => {
    container.writeCpuset(cpus);
    writes++;
  }, 10);
  return { writes: () => writes, stop: () => clearInterval(timer) };
}

onEachRuntime('drift', (suite) => {
  let runtime: Runtime;
  let daemon: Daemon;
  beforeAll(async () => {
    runtime = await startRuntime({ suite, nri: true });
  });
  afterAll(() => runtime?.stop());
  afterEach(() => daemon?.dispose());

  const start = async (...args: string[]): Promise<void> => {
    daemon = startDaemon({ runtime, args: ['--reserved-cpus', '0', ...args] });
    await daemon.ready();
  };

  defineOnce(suite, () => {
    test('a foreign write is detected before the next round, repaired, explained and counted', async () => {
      const port = await findFreePort();
      await start('--reconcile-period', '1h', '--metrics-address', `127.0.0.1:${port}`);
      const pod = await runtime.kubelet.runPod({ containers: [pinned] });
      const db = await pod.startContainer('db');
      db.writeCpuset('0');
      const noticed = await daemon.waitForLog('drifted');
      expect(noticed).toMatchObject({ promised: exclusiveList, found: '0', cause: 'unknown-writer' });
      expect(noticed.because).toMatch(/likely cause: unknown writer: someone wrote its cgroup directly/);
      await daemon.waitForLog('repaired');
      expect(db.cpuset().cpus).toBe(exclusiveList);
      await waitUntil('the verdict', async () => (await containerOf(daemon, db)).verdict.kind === 'kept');

      const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
      expect(metrics).toContain('cpusetd_drift_total{cause="unknown-writer"} 1\n');
      expect(metrics).toContain('cpusetd_repairs_total{outcome="ok"} 1\n');
      expect(metrics).toContain('cpusetd_cpu_manager_pinning_requests_total 1\n');
      expect(metrics).toContain('cpusetd_container_verdicts{verdict="kept"} 1\n');
      expect(metrics).toMatch(/cpusetd_gap_seconds_total [0-9.e-]+\n/);
      await pod.remove();
    });
  });

  test("a repair also renews the runtime's record: the next update of the runtime does not undo it", async () => {
    await start('--reconcile-period', '1h');
    const pod = await runtime.kubelet.runPod({ containers: [shared] });
    const web = await pod.startContainer('web');
    web.writeCpuset('0');
    await daemon.waitForLog('repaired');
    await web.update({ cpuShares: 512n });
    expect(web.cpuset().cpus).toBe(onlineCpus);
    await pod.remove();
  });

  test.each(['on', 'off'])(
    'a moved container has the verdict "kept" before the next round, but not before it is read back; cgroup-writes %s',
    async (writes) => {
      await start('--reconcile-period', '1h', '--cgroup-writes', writes);
      const pod = await runtime.kubelet.runPod({ containers: [shared] });
      const web = await pod.startContainer('web');
      const keptOn = (cpus: string) =>
        poll(`the promise of ${cpus} to be kept`, async () => {
          const { promise, observation, verdict } = await containerOf(daemon, web);
          if (promise?.cpus !== cpus || verdict.kind !== 'kept') return undefined;
          expect([observation?.cpus, web.cpuset().cpus]).toEqual([cpus, cpus]);
          return true;
        });
      await keptOn(onlineCpus);
      const rival = await runtime.kubelet.runPod({ containers: [pinned] });
      await rival.startContainer('db');
      await keptOn('0');
      await rival.remove();
      await keptOn(onlineCpus);
      expect(daemon.log.lines.filter(({ msg }) => msg === 'drifted')).toEqual([]);
      await pod.remove();
    },
  );

  defineOnce(suite, () => {
    test('a writer that undoes every repair: repairs stop with an alarm; a new promise ends the alarm', async () => {
      await start('--reconcile-period', '500ms');
      const pod = await runtime.kubelet.runPod({ containers: [shared] });
      const web = await pod.startContainer('web');
      const fighter = fight(web, '1');
      try {
        const isRepairAlarm = (line: LogLine): boolean => line.msg === 'alarm' && line.alarm === 'repairs-stopped';
        const alarm = await daemon.waitForLog(isRepairAlarm, { deadlineMs: 60_000 });
        expect(alarm).toMatchObject({ level: 'error', subject: web.id });
        const repairs = () => daemon.log.lines.filter(({ msg }) => msg === 'drifted').length;
        // A transaction is logged after its commit: the alarm's line can come before that of the last repair.
        await waitUntil('the line of the last repair', () => repairs() >= MAX_REPAIRS);
        const before = fighter.writes();
        await poll('many more writes', () => (fighter.writes() > before + 100 ? true : undefined));
        expect(repairs()).toBe(MAX_REPAIRS);
        // While the writer goes on: it also overwrites late updates of the runtime.
        const { node, verdict } = await poll('the verdict on what was written last', async () => {
          const status = await readStatus(daemon);
          const given = status.containers.find(({ id }) => id === web.id)!.verdict;
          return given.kind === 'drifted' ? { node: status.node, verdict: given } : undefined;
        });
        expect(node.alarms).toMatchObject([{ kind: 'repairs-stopped', subject: web.id }]);
        expect(verdict.reason).toMatch(/repairs have stopped/);
        await waitUntil('health to have it', async () =>
          (await askDaemon(daemon, 'health')).includes('repairs-stopped'),
        );
      } finally {
        fighter.stop();
      }

      const rival = await runtime.kubelet.runPod({ containers: [pinned] });
      await rival.startContainer('db'); // the pool shrinks: another promise
      expect(web.cpuset().cpus).toBe('0');
      await waitUntil('the alarm to be over', async () => (await readStatus(daemon)).node.alarms.length === 0);
      await rival.remove();
      await pod.remove();
    });
  });

  test('the CFS quotas of a pinned container and of its pod are lifted, also when they are set again', async () => {
    await start('--reconcile-period', '200ms');
    const pod = await runtime.kubelet.runPod({ containers: [pinned] });
    const podCgroup = pod.cgroupParent;
    writeFileSync(quotaFileOf(podCgroup), '100000'); // as the kubelet does when it makes the pod's cgroup
    const db = await pod.startContainer('db');
    expect(posix.dirname(db.cgroupPath)).toBe(podCgroup);
    await poll("the pod's quota to be lifted", () => readQuotaUs(podCgroup) < 0 || undefined);
    await poll('the quota to be lifted', () => readQuotaUs(db.cgroupPath) < 0 || undefined);
    writeFileSync(quotaFileOf(db.cgroupPath), '50000');
    await poll('the quota to be lifted again', () => readQuotaUs(db.cgroupPath) < 0 || undefined);
    const { verdict } = await poll('the look at both quotas', async () => {
      const found = await containerOf(daemon, db);
      return found.observation?.quotaUs === -1 && found.observation.podQuotaUs === -1 ? found : undefined;
    });
    expect(verdict.kind).toBe('kept');
    await pod.remove();
  });

  defineOnce(suite, () => {
    test('quotas with --lift-cpu-quota off: the verdict names them', async () => {
      await start('--reconcile-period', '200ms', '--lift-cpu-quota', 'off');
      const pod = await runtime.kubelet.runPod({ containers: [pinned] });
      const db = await pod.startContainer('db');
      const { verdict } = await poll('the verdict', async () => {
        const container = await containerOf(daemon, db);
        return container.observation ? container : undefined;
      });
      expect(verdict.kind).toBe('kept');
      expect(verdict.reason).toMatch(
        /its CFS quota of \d+ CPUs? \(\d+ µs in each 100000 µs\) applies: lifting it is off/,
      );
      await pod.remove();
    });

    test('threads on fewer CPUs than the cpuset: they are shown, and are no drift', async () => {
      await start('--reconcile-period', '200ms');
      const command = ['sh', '-c', 'taskset -p 1 $$ && exec sleep 2147483647'];
      const pod = await runtime.kubelet.runPod({ containers: [{ ...shared, command }] });
      const web = await pod.startContainer('web');
      const container = await poll('the sample', async () => {
        const found = await containerOf(daemon, web);
        // Only after taskset has ended.
        return found.observation?.threads?.looked === 1 && found.observation.threads.narrower > 0 ? found : undefined;
      });
      expect(container.observation?.threads).toMatchObject({ narrowerCpus: '0', outside: '' });
      expect(container.verdict.kind).toBe('kept');
      expect(container.verdict.reason).toMatch(/1 of 1 thread keeps to 0 by an affinity of its own/);
      await pod.remove();
    });

    test('a kubelet with a static CPU manager: an alarm at the start, and another when the kubelet writes its state', async () => {
      const dir = mkdtempSync(join(tmpdir(), 'kubelet-'));
      const file = join(dir, 'cpu_manager_state');
      const stateOf = (pool: string) =>
        formatKubeletState(
          { policyName: 'static', defaultCpuSet: pool, entries: new Map(), podEntries: new Map() },
          'v2',
        );
      try {
        writeFileSync(file, stateOf(onlineCpus));
        await start('--kubelet-root-dir', dir, '--reconcile-period', '200ms');
        expect((await daemon.waitForLog('alarm')).because).toMatch(/is, or was, static.*cpuManagerPolicy to none/s);
        let mark = daemon.mark();
        replaceFile(file, stateOf('0'));
        expect((await daemon.waitForLog('alarm', { from: mark })).because).toMatch(/has just been written/);
        mark = daemon.mark();
        rmSync(file);
        await daemon.waitForLog('alarm is over', { from: mark });
      } finally {
        rmSync(dir, { recursive: true });
      }
    });
  });

  test('containers that started while cpusetd was away: the gap has their number, their names and its times, and they are moved', async () => {
    const port = await findFreePort();
    await start('--metrics-address', `127.0.0.1:${port}`);
    await daemon.kill();
    const pod = await runtime.kubelet.runPod({ containers: [pinned] });
    const db = await pod.startContainer('db');
    const sharedPod = await runtime.kubelet.runPod({ containers: [shared] });
    const web = await sharedPod.startContainer('web');
    expect(db.cpuset().cpus).toBe(onlineCpus);
    const mark = daemon.mark();
    daemon.start();
    const closed = await daemon.waitForLog((line) => /^the gap is closed/.test(line.msg ?? ''), { from: mark });
    expect(closed).toMatchObject({ level: 'warn', containers: 2 });
    expect(db.cpuset().cpus).toBe(exclusiveList);
    expect(web.cpuset().cpus).toBe('0');
    await daemon.waitForLog('started', { from: mark });
    const { gap } = (await readStatus(daemon)).node;
    expect(gap.containers).toBe(2);
    expect([...gap.names].sort()).toEqual([`default/${pod.name}/db`, `default/${sharedPod.name}/web`]);
    expect(Date.parse(gap.to!) - Date.parse(gap.from)).toBeCloseTo(Number(closed['seconds']) * 1000, -1);
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    expect(metrics).toContain('cpusetd_gap_containers_total 2\n');
    await pod.remove();
    await sharedPod.remove();
  });
});
