import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import {
  askDaemon,
  bundle,
  type Daemon,
  defineOnce,
  findFreePort,
  lastCpu,
  onRuntimes,
  patienceMs,
  type Runtime,
  startDaemon,
  startRuntime,
  waitUntil,
} from './rig';

jest.setTimeout(300_000);

const run = promisify(execFile);

interface Audit {
  readonly owners: readonly {
    readonly owner: { readonly pod: string; readonly cpus: string; readonly containers: readonly string[] };
    readonly foreign: readonly {
      readonly pid: number;
      readonly name: string;
      readonly kind: string;
      readonly ran: boolean;
      readonly ranMs: number;
      readonly cpus: string;
    }[];
    readonly stolen: { readonly ranMs: number; readonly waitedMs: number; readonly preemptions: number };
  }[];
}

interface TopShown {
  readonly containers: readonly {
    readonly pod: string;
    readonly usedPercent: number;
    readonly waitMsPerSecond: number;
    readonly foreign: { readonly percent: number; readonly threads: number; readonly most: string };
  }[];
}

onRuntimes(['sid', 'crio'], 'cpusetd audit', (suite) => {
  let runtime: Runtime;
  let daemon: Daemon;
  let port: number;
  const children: ChildProcess[] = [];
  beforeAll(async () => {
    runtime = await startRuntime({ suite, nri: true });
    port = await findFreePort();
    const background = ['--audit-period', '1s', '--metrics-address', `127.0.0.1:${port}`];
    daemon = startDaemon({ runtime, args: ['--reserved-cpus', '0', ...background] });
    await daemon.ready();
  });
  afterEach(async () => {
    for (const child of children.splice(0)) {
      const closed = once(child, 'close');
      child.kill('SIGKILL');
      await closed;
    }
  });
  afterAll(async () => {
    await daemon?.dispose();
    await runtime?.stop();
  });

  /** Exit status and result of an audit of a second. */
  const audit = async (...args: string[]): Promise<{ readonly status: number; readonly stdout: string }> => {
    const command = [bundle, 'audit', '--duration', '1s', '--admin-socket', daemon.adminSocket, ...args];
    return run(process.execPath, command).then(
      ({ stdout }) => ({ status: 0, stdout }),
      (error: unknown) => {
        const { code, stdout } = error as { readonly code: number; readonly stdout: string };
        return { status: code, stdout };
      },
    );
  };

  /** A process that uses all of one CPU. */
  const burn = (cpu: number): number => {
    const child = spawn('taskset', ['-c', String(cpu), process.execPath, '-e', 'for (;;);'], { stdio: 'ignore' });
    children.push(child);
    return child.pid!;
  };

  test('a task that is put onto an exclusive CPU is found, with the time that it ran and that it cost the owner', async () => {
    const pod = await runtime.kubelet.runPod({
      containers: [{ name: 'busy', cpus: lastCpu, command: ['sh', '-c', 'while :; do :; done'] }],
    });
    await pod.startContainer('busy');
    const quiet = JSON.parse((await audit('-o', 'json', '--all')).stdout) as Audit;
    const [before] = quiet.owners;
    expect(before!.owner).toMatchObject({ pod: `${pod.namespace}/${pod.name}`, containers: ['busy'] });
    expect(before!.stolen.ranMs).toBeGreaterThan(200);
    // Each CPU has threads of the kernel that can't leave it.
    expect(before!.foreign).toContainEqual(expect.objectContaining({ kind: 'bound', cpus: String(lastCpu) }));

    const pid = burn(lastCpu);
    const { status, stdout } = await audit('-o', 'json');
    expect(status).toBe(1);
    const [after] = (JSON.parse(stdout) as Audit).owners;
    const intruder = after!.foreign.find((task) => task.pid === pid);
    expect(before!.foreign.some((task) => task.pid === pid)).toBe(false);
    expect(intruder).toMatchObject({ kind: 'process', ran: true, cpus: String(lastCpu) });
    expect(intruder!.ranMs).toBeGreaterThan(100);
    expect(after!.stolen.waitedMs).toBeGreaterThan(100);

    const text = (await audit()).stdout;
    expect(text).toMatch(new RegExp(`^${pod.namespace}/${pod.name} busy: ${lastCpu}\\n`));
    expect(text).toMatch(new RegExp(`\\nprocess +\\S+ \\(${pid}\\).* ran \\d+ ms`));

    const about = JSON.parse(await askDaemon(daemon, 'cpu', String(lastCpu), '-o', 'json')) as {
      owners: { pod: string; verdict: { kind: string } }[];
      now: {
        seen: boolean;
        busyPercent: number;
        runners: { who: string; isOwner: boolean; ranMs: number; pid?: number }[];
      };
    };
    expect(about.owners).toMatchObject([{ pod: pod.name, verdict: { kind: 'kept' } }]);
    expect(about.now.busyPercent).toBeGreaterThan(80);
    expect(about.now.runners.find(({ isOwner }) => isOwner)!.ranMs).toBeGreaterThan(100);
    expect(about.now.runners.find((runner) => runner.pid === pid)!.ranMs).toBeGreaterThan(100);
    await pod.remove();
  });

  defineOnce(suite, () => {
    test('top shows the use and the wait of a busy container, and a task of the host on its CPU', async () => {
      const pod = await runtime.kubelet.runPod({
        containers: [{ name: 'busy', cpus: lastCpu, command: ['sh', '-c', 'while :; do :; done'] }],
      });
      await pod.startContainer('busy');
      const top = async (): Promise<TopShown> => {
        const args = ['top', '--interval', '2s', '-o', 'json', '--admin-socket', daemon.adminSocket];
        return JSON.parse((await run(process.execPath, [bundle, ...args])).stdout) as TopShown;
      };
      const alone = (await top()).containers;
      expect(alone).toHaveLength(1);
      expect(alone[0]).toMatchObject({
        pod: pod.name,
        container: 'busy',
        placement: 'exclusive',
        cpus: String(lastCpu),
        verdict: { kind: 'kept' },
      });
      burn(lastCpu);
      const beside = (await top()).containers[0]!;
      const args = ['top', '-n', '1', '--sort', 'others', '--admin-socket', daemon.adminSocket];
      const { stdout } = await run(process.execPath, [bundle, ...args]);
      // Its one thread runs or waits, whoever else is on this machine: near 100 % of the time together.
      for (const { usedPercent, waitMsPerSecond } of [alone[0]!, beside]) {
        expect(usedPercent).toBeGreaterThan(10);
        expect(usedPercent + waitMsPerSecond / 10).toBeGreaterThan(85);
        expect(usedPercent + waitMsPerSecond / 10).toBeLessThan(115);
      }
      expect(beside.foreign.percent).toBeGreaterThan(10);
      expect(beside.foreign.most).not.toBe('');
      expect(beside.waitMsPerSecond).toBeGreaterThan(100);
      expect(stdout).toMatch(/ USED +WAIT +THROTTLED +OTHERS +MOST +VERDICT\n/);
      expect(stdout).toMatch(new RegExp(`/${pod.name} +busy +${lastCpu} +[\\d.]+ % +[\\d.]+ ms/s .* kept\\n`));
      await pod.remove();
    });

    test('the audit in the background has the same task in the metrics, until it is gone', async () => {
      const valueOf = async (series: string): Promise<number> => {
        const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
        const [, value = 'NaN'] =
          text
            .split('\n')
            .find((line) => line.startsWith(`${series} `))
            ?.split(' ') ?? [];
        return Number(value);
      };
      const TASKS = 'cpusetd_audit_foreign_tasks{kind="process"}';
      const SECONDS = 'cpusetd_audit_foreign_cpu_seconds_total{kind="process"}';
      const pod = await runtime.kubelet.runPod({
        containers: [{ name: 'busy', cpus: lastCpu, command: ['sh', '-c', 'while :; do :; done'] }],
      });
      await pod.startContainer('busy');
      // Other programs of this machine may be on the CPU as well: the burning task is distinguished by its time.
      burn(lastCpu);
      const from = await valueOf(SECONDS);
      await waitUntil('the task and its time are seen', async () => {
        return (await valueOf(TASKS)) >= 1 && (await valueOf(SECONDS)) > from + 0.3;
      });
      expect(await valueOf('cpusetd_audit_threads_visible')).toBe(1);
      expect(await valueOf('cpusetd_audit_owner_wait_seconds_total')).toBeGreaterThan(0.1);
      const lastMs = (await valueOf('cpusetd_audit_last_run_timestamp_seconds')) * 1000;
      expect(Math.abs(lastMs - Date.now())).toBeLessThan(patienceMs);
      await pod.remove();
      await waitUntil('nothing is foreign without an owner', async () => (await valueOf(TASKS)) === 0);
    });

    test('without exclusive CPUs there is nothing to audit', async () => {
      expect(await audit()).toEqual({ status: 0, stdout: 'No container had CPUs for itself all the time.\n' });
    });
  });
});
