import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { JournalRecord } from '../../src/state/journal';
import {
  askDaemon,
  bundle,
  type Daemon,
  exclusiveList,
  lastCpu,
  onRuntimes,
  poll,
  type Runtime,
  startDaemon,
  startRuntime,
} from './rig';
import { BundleProcess } from './rig/bundle-process';

jest.setTimeout(300_000);

const run = promisify(execFile);
const shared = { name: 'web', cpuRequestMilli: 100 };
const pinned = { name: 'db', cpus: lastCpu };

onRuntimes(['sid'], 'the journal', (suite) => {
  let runtime: Runtime;
  let daemon: Daemon;
  beforeAll(async () => {
    runtime = await startRuntime({ suite, nri: true });
  });
  afterAll(() => runtime?.stop());
  afterEach(() => daemon?.dispose());

  /** The records of a pod as `cpusetd events` prints them. */
  const eventsOf = async (pod: { uid: string }, ...args: string[]): Promise<readonly JournalRecord[]> => {
    const command = [bundle, 'events', '--state-dir', daemon.stateDir, '--pod', pod.uid, '-o', 'json', ...args];
    const { stdout } = await run(process.execPath, command);
    return stdout.split('\n').flatMap((line) => (line === '' ? [] : (JSON.parse(line) as JournalRecord)));
  };
  const until = (what: string, pod: { uid: string }, kinds: readonly string[]) =>
    poll(what, async () => {
      const records = await eventsOf(pod);
      return kinds.every((kind) => records.some((record) => record.kind === kind)) ? records : undefined;
    });
  const explain = (pod: { namespace: string; name: string }, ...args: string[]): Promise<string> =>
    askDaemon(daemon, 'explain', `${pod.namespace}/${pod.name}`, '--state-dir', daemon.stateDir, ...args);

  test('a container, its drift, its repair and its end are followed as they happen, and told after SIGKILL', async () => {
    daemon = startDaemon({ runtime, args: ['--reserved-cpus', '0', '--reconcile-period', '1h'] });
    await daemon.ready();
    const early = await runtime.kubelet.runPod({ containers: [shared] });
    const web = await early.startContainer('web');
    const pod = await runtime.kubelet.runPod({ containers: [pinned] });
    const follower = new BundleProcess({
      args: [
        'events',
        '--follow',
        '--state-dir',
        daemon.stateDir,
        '--pod',
        `${pod.namespace}/${pod.name}`,
        '-o',
        'json',
      ],
    });
    follower.start();
    const db = await pod.startContainer('db');
    await follower.waitForLog(({ kind }) => kind === 'pinned');
    db.writeCpuset('0');
    await follower.waitForLog(({ kind }) => kind === 'repaired');
    expect(await follower.stop('SIGTERM')).toBe(0);

    const records = await until('the repair', pod, ['pinned', 'drifted', 'repaired']);
    expect(records.map(({ kind }) => kind)).toEqual(['pinned', 'drifted', 'repaired']);
    expect(records[0]).toMatchObject({ container: 'db', cpus: exclusiveList, policy: 'static', podUid: pod.uid });
    expect(records[0]!['steps']).not.toEqual([]);
    expect(records[1]).toMatchObject({ promised: exclusiveList, found: '0', cause: 'unknown-writer' });
    expect(await until('the move', early, ['moved'])).toMatchObject([
      { kind: 'moved', container: 'web', cpus: '0', causedBy: `${pod.namespace}/${pod.name}/db` },
    ]);
    expect(web.cpuset().cpus).toBe('0');
    // The node as it was, from the same journal: before the container, and with it.
    const ownersAt = async (at: string): Promise<readonly string[]> => {
      const args = ['status', '--at', at, '--state-dir', daemon.stateDir, '-o', 'json'];
      const { stdout } = await run(process.execPath, [bundle, ...args]);
      const { containers } = JSON.parse(stdout) as {
        containers: { pod: string; placement: string; promise: { cpus: string } }[];
      };
      return containers
        .filter(({ placement }) => placement === 'exclusive')
        .map((container) => `${container.pod} ${container.promise.cpus}`);
    };
    const pinnedMs = Date.parse(records[0]!.at);
    expect(await ownersAt(new Date(pinnedMs - 1).toISOString())).toEqual([]);
    expect(await ownersAt(new Date(pinnedMs).toISOString())).toEqual([`${pod.name} ${exclusiveList}`]);
    const { stdout: ofCpu } = await run(process.execPath, [
      ...[bundle, 'events', '--state-dir', daemon.stateDir, '--cpu', String(lastCpu), '-o', 'json'],
      ...['--until', records[0]!.at, '--pod', pod.uid],
    ]);
    expect(
      ofCpu
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as JournalRecord).kind),
    ).toEqual(['pinned']);

    // A container from before a restart keeps its steps, which the new process does not have.
    await daemon.kill();
    daemon.start();
    await daemon.ready();
    const { containers, history } = JSON.parse(await explain(pod, '-o', 'json')) as {
      containers: readonly { steps: readonly { rule: string; took: string; because: string }[] }[];
      history: readonly JournalRecord[];
    };
    expect(containers[0]!.steps).toEqual(records[0]!['steps']);
    expect(history.slice(0, 3)).toEqual(records);

    // A pod that is gone is explained by the journal alone.
    await pod.remove();
    await until('the end', pod, ['released']);
    const gone = await explain(pod);
    expect(gone).toContain(`${pod.namespace}/${pod.name} db: is not here now, it had ${exclusiveList}\n`);
    expect(gone).toContain(`  because: ${records[0]!.because}\n`);
    expect(gone).toMatch(/\n {2}steps: {3}/);
    expect(gone).toMatch(/\nHistory: all events of the journal\.\n/);

    const all = await run(process.execPath, [
      bundle,
      'events',
      '--state-dir',
      daemon.stateDir,
      '--kind',
      'settings,gap',
    ]);
    expect(all.stdout.match(/ settings /g)).toHaveLength(2);
    expect(all.stdout.match(/ gap /g)).toHaveLength(2);
    await early.remove();
  });

  test('a refusal is in the journal with what was in the way, its tries again are counted', async () => {
    daemon = startDaemon({ runtime, args: ['--reserved-cpus', '0'] });
    await daemon.ready();
    const pod = await runtime.kubelet.runPod({ containers: [{ name: 'big', cpus: lastCpu + 1 }] });
    for (let i = 0; i < 5; i++) await expect(pod.startContainer('big')).rejects.toThrow(/can be given now/);
    const records = await poll('the fourth try', async () => {
      const found = await eventsOf(pod);
      return found.length >= 3 ? found : undefined;
    });
    expect(records.map(({ kind, times }) => `${kind} ${String(times)}`)).toEqual([
      'refused 1',
      'refused 2',
      'refused 4',
    ]);
    expect(records[0]).toMatchObject({
      code: 'RESOURCE_EXHAUSTED',
      requested: lastCpu + 1,
      policy: 'static',
      zones: [{ node: 0, allocatable: lastCpu, free: lastCpu }],
    });
    await pod.remove();
    expect(await daemon.stop()).toBe(0);
    const { stdout } = await run(process.execPath, [bundle, 'events', '--state-dir', daemon.stateDir]);
    expect(stdout).toMatch(/ stopped .*SIGTERM/);
  });

  test('without a journal nothing is written, and events says so', async () => {
    daemon = startDaemon({ runtime, args: ['--reserved-cpus', '0', '--journal-size', 'off'] });
    await daemon.ready();
    await expect(run(process.execPath, [bundle, 'events', '--state-dir', daemon.stateDir])).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining(
        `${daemon.stateDir}/journal: no such file or directory; name the state directory`,
      ),
    });
  });
});
