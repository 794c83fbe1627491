import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  askDaemon,
  type Daemon,
  exclusiveList,
  lastCpu,
  type LogLine,
  onRuntimes,
  poll,
  replaceFile,
  type Runtime,
  type RunningContainer,
  startDaemon,
  startRuntime,
} from './rig';

jest.setTimeout(300_000);

const pinned = { name: 'db', cpus: lastCpu };
/** It asks for CPUs that the other has: whether it is refused is a matter of the options. */
const rival = { name: 'rival', cpus: 1 };
const shared = { name: 'web', cpuRequestMilli: 100 };

const REFUSE = 'reserved-cpus: 0\non-insufficient-cpu: refuse\n';
const SHARE = 'reserved-cpus: 0\non-insufficient-cpu: share\nlift-cpu-quota: off\n';
const BAD = 'reserved-cpus: 0\non-insufficient-cpu: perhaps\n';
/** No machine has so many CPUs that they are all there. */
const UNFIT = 'reserved-cpus: 65000\n';

interface NodeStatus {
  readonly alarms: readonly { readonly kind: string; readonly because: string }[];
  readonly pendingOptions?: readonly {
    readonly option: string;
    readonly inForce: string;
    readonly configured: string;
  }[];
}

onRuntimes(['sid'], 'options that change while cpusetd runs', (suite) => {
  let runtime: Runtime;
  let daemon: Daemon;
  let dir: string;
  beforeAll(async () => {
    runtime = await startRuntime({ suite, nri: true });
  });
  afterAll(() => runtime?.stop());
  beforeEach(() => (dir = mkdtempSync(join(tmpdir(), 'reload-'))));
  afterEach(async () => {
    await daemon?.dispose();
    await runtime.kubelet.removePods();
    rmSync(dir, { recursive: true, force: true });
  });

  const path = (): string => join(dir, 'cpusetd.yaml');
  const start = async (file: string, ...args: string[]): Promise<void> => {
    writeFileSync(path(), file);
    daemon = startDaemon({ runtime, args: ['--config', path(), ...args] });
    await daemon.ready();
  };
  const nodeStatus = async (): Promise<NodeStatus> =>
    (JSON.parse(await askDaemon(daemon, 'status', '-o', 'json')) as { node: NodeStatus }).node;
  const changesTo = (value: string) => (line: LogLine) =>
    line.msg === 'settings changed' && JSON.stringify(line['changes']).includes(`"to":"${value}"`);
  const runPinned = async (): Promise<RunningContainer> => {
    const pod = await runtime.kubelet.runPod({ containers: [pinned] });
    return pod.startContainer('db');
  };

  /** Creates and starts the container. The CPUs that the kernel has for it, or `refused`. */
  async function tryRival(): Promise<string> {
    const pod = await runtime.kubelet.runPod({ containers: [rival] });
    try {
      const container = await pod.startContainer('rival');
      return container.cpuset().cpus;
    } catch (error) {
      if (!String(error).includes('can be given now')) throw error;
      return 'refused';
    } finally {
      await pod.remove();
    }
  }

  test('a storm of creations while the file flips between two rule sets and a bad one: every answer is right by one of the two, none is late, and nothing that runs moves', async () => {
    await start(REFUSE);
    const db = await runPinned();
    const own = exclusiveList;
    expect(db.cpuset().cpus).toBe(own);

    const stop = new AbortController();
    const seen = new Set<string>();
    let flips = 0;
    const flipping = (async () => {
      for (; !stop.signal.aborted; flips++) {
        replaceFile(path(), [REFUSE, BAD, SHARE, UNFIT][flips % 4]!);
        await delay(100);
        seen.add(db.cpuset().cpus);
      }
    })();
    const answers: string[] = [];
    const isEnough = (): boolean =>
      answers.length >= 40 && ['refused', '0'].every((each) => answers.filter((answer) => answer === each).length >= 5);
    const storm = async (): Promise<void> => {
      while (!isEnough() && answers.length < 400) answers.push(await tryRival());
    };
    await Promise.all([storm(), storm(), storm(), storm()]);
    stop.abort();
    await flipping;

    expect(isEnough()).toBe(true);
    expect([...new Set(answers)].sort()).toEqual(['0', 'refused']);
    expect([...seen]).toEqual([own]);
    // A plugin that answers later than the runtime waits for it is cut off, and would have to come back.
    expect(daemon.log.lines.filter(({ msg }) => msg === 'synchronized with the runtime')).toHaveLength(1);
    const moved = daemon.log.lines.filter(
      ({ msg }) => msg === 'drifted' || msg === 'a fault of cpusetd; everything else goes on',
    );
    expect(moved).toEqual([]);

    // The last file counts, and an alarm is over with it.
    const from = daemon.mark();
    replaceFile(path(), SHARE);
    const last = daemon.log.lines.findLast(({ msg }) => msg === 'settings changed');
    if (!last || !changesTo('share')(last)) await daemon.waitForLog(changesTo('share'), { from });
    await poll('the end of the alarm', async () => ((await nodeStatus()).alarms.length === 0 ? true : undefined));
    expect(await tryRival()).toBe('0');
    expect(db.cpuset().cpus).toBe(own);
    console.info(`${suite}: ${answers.length} answers while the file changed ${flips} times`);
  });

  test('a file with a fault changes nothing, and an alarm names the line and the remedy until it is corrected', async () => {
    await start(REFUSE);
    const db = await runPinned();
    replaceFile(path(), BAD);
    await daemon.waitForLog('alarm');
    expect((await nodeStatus()).alarms).toEqual([
      expect.objectContaining({
        kind: 'config-refused',
        because: expect.stringContaining(
          `${path()}:2: on-insufficient-cpu: "perhaps" is not a known value; choose one of refuse, share`,
        ) as string,
      }),
    ]);
    expect(await tryRival()).toBe('refused');
    replaceFile(path(), REFUSE);
    await daemon.waitForLog('alarm is over');
    expect(db.cpuset().cpus).toBe(exclusiveList);
  });

  test('SIGHUP: what can be taken is in force, what needs a restart is in the status with its remedy, and is taken by the next start', async () => {
    await start('reserved-cpus: 0\n');
    const db = await runPinned();
    const from = daemon.mark();
    // In place and at once: the signal asks for it, whatever inotify tells.
    writeFileSync(path(), `${SHARE}log-level: debug\ncgroup-writes: off\n`);
    process.kill(daemon.pid, 'SIGHUP');
    const { changes } = await daemon.waitForLog('settings changed', { from });
    expect(changes).toEqual(
      expect.arrayContaining([
        { option: 'on-insufficient-cpu', from: 'refuse', to: 'share' },
        { option: 'log-level', from: 'info', to: 'debug' },
      ]),
    );
    expect(await tryRival()).toBe('0');
    // A container that shares as it was expected to is told at this level only.
    const quiet = daemon.mark();
    await (await runtime.kubelet.runPod({ containers: [shared] })).startContainer('web');
    await daemon.waitForLog(({ level }) => level === 'debug', { from: quiet });
    expect((await nodeStatus()).pendingOptions).toEqual([
      expect.objectContaining({ option: 'cgroup-writes', inForce: 'on', configured: 'off' }),
    ]);
    const shown = await askDaemon(daemon, 'status');
    expect(shown.replace(/\s+/g, ' ')).toContain('options warning cgroup-writes: off is configured, on is in force');
    expect(shown).toContain('restart cpusetd');

    await daemon.kill();
    daemon.start();
    await daemon.ready();
    expect((await nodeStatus()).pendingOptions).toBeUndefined();
    expect(db.cpuset().cpus).toBe(exclusiveList);
    expect(await tryRival()).toBe('0');
  });

  test('SIGHUP without a file says that nothing has changed', async () => {
    daemon = startDaemon({ runtime, args: ['--reserved-cpus', '0'] });
    await daemon.ready();
    process.kill(daemon.pid, 'SIGHUP');
    await daemon.waitForLog('the options were read again, and are those in force');
    expect(await daemon.stop()).toBe(0);
  });

  test('the links of a mounted ConfigMap are followed when they are swapped', async () => {
    const publish = (version: string, text: string): void => {
      mkdirSync(join(dir, version));
      writeFileSync(join(dir, version, 'cpusetd.yaml'), text);
      symlinkSync(version, join(dir, '..data_tmp'));
      renameSync(join(dir, '..data_tmp'), join(dir, '..data'));
    };
    publish('..2026_01', REFUSE);
    symlinkSync('..data/cpusetd.yaml', path());
    daemon = startDaemon({ runtime, args: ['--config', path()] });
    await daemon.ready();
    await runPinned();
    expect(await tryRival()).toBe('refused');
    publish('..2026_02', SHARE);
    rmSync(join(dir, '..2026_01'), { recursive: true });
    await daemon.waitForLog(changesTo('share'));
    expect(await tryRival()).toBe('0');
  });

  test('killed right after a change: the next start with the file gives what was in force', async () => {
    await start(REFUSE);
    const db = await runPinned();
    const pod = await runtime.kubelet.runPod({ containers: [shared] });
    const web = await pod.startContainer('web');
    const from = daemon.mark();
    replaceFile(path(), 'reserved-cpus: 0\ncpu-manager-policy: none\non-insufficient-cpu: share\n');
    await daemon.waitForLog(changesTo('none'), { from });
    await daemon.kill();
    const before = [db.cpuset().cpus, web.cpuset().cpus];
    daemon.start();
    await daemon.ready();
    expect([db.cpuset().cpus, web.cpuset().cpus]).toEqual(before);
    expect(db.cpuset().cpus).toBe(exclusiveList);
    expect(daemon.log.lines.filter(({ msg }) => msg === 'moved' || msg === 'drifted')).toEqual([]);
  });
});
