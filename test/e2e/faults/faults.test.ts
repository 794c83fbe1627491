import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineUnless } from '../../support/not-run';
import {
  cpusetDirOf,
  type Daemon,
  type DaemonOptions,
  defineOnce,
  exclusiveList,
  isHealthy,
  lastCpu,
  onlineCpus,
  onEachRuntime,
  poll,
  printMaskThenSleep,
  readStatus,
  type Runtime,
  type RunningContainer,
  type RunningPod,
  startDaemon,
  startRuntime,
  waitUntil,
} from '../rig';
import { patience } from './patience';
import { type Facts, FaultTable } from './fault-table';
import { SmallDisk } from './small-disk';

jest.setTimeout(300_000);

const shared = { name: 'web', cpuRequestMilli: 100, command: printMaskThenSleep };
const pinned = { name: 'db', cpus: lastCpu, command: printMaskThenSleep };

onEachRuntime('faults', (suite) => {
  const table = new FaultTable();
  let runtime: Runtime;
  let daemon: Daemon;
  let pods: RunningPod[] = [];
  beforeAll(async () => {
    runtime = await startRuntime({ suite, nri: true });
  });
  afterAll(async () => {
    process.stderr.write(`\n${runtime?.label}\n\n${table.toString()}\n\n`);
    await runtime?.stop();
  });
  afterEach(async () => {
    for (const pod of pods) await pod.remove().catch(() => undefined);
    pods = [];
    await daemon?.dispose();
  });

  const start = async (options: Partial<Omit<DaemonOptions, 'runtime'>> = {}): Promise<void> => {
    const { args = [], ...rest } = options;
    daemon = startDaemon({ runtime, args: ['--reserved-cpus', '0', '--reconcile-period', '500ms', ...args], ...rest });
    await synchronized();
    await daemon.waitForLog('started', patience);
  };
  const synchronized = (from = 0) => daemon.waitForLog('synchronized with the runtime', { ...patience, from });
  /** Starts the daemon again, and waits until it is synchronized. */
  const startAgain = async (): Promise<void> => {
    const mark = daemon.mark();
    daemon.start();
    await synchronized(mark);
    await daemon.waitForLog('started', { ...patience, from: mark });
  };
  const run = async (spec: typeof shared | typeof pinned): Promise<RunningContainer> => {
    const pod = await runtime.kubelet.runPod({ containers: [spec] });
    pods.push(pod);
    return pod.startContainer(spec.name);
  };
  /** Tries to start a container. Gives its CPUs, or the part of the error that matches. */
  const attempt = async (spec: typeof shared | typeof pinned, whyNot: RegExp): Promise<string> => {
    try {
      return `runs on ${await (await run(spec)).firstLine()}`;
    } catch (error) {
      return `refused: ${whyNot.exec((error as Error).message)?.[0] ?? (error as Error).message}`;
    }
  };
  const on = (container: RunningContainer): string => container.cpuset().cpus;
  const settlesOn = async (container: RunningContainer, cpus: string): Promise<string> => {
    await waitUntil(`${container.name} on ${cpus}`, () => on(container) === cpus, patience.deadlineMs).catch(
      () => undefined,
    );
    return on(container);
  };
  const releasesAll = async (): Promise<string> => {
    const pool = async () => (await readStatus(daemon)).node.sharedPool;
    await waitUntil('the pool to be whole', async () => (await pool()) === onlineCpus, patience.deadlineMs).catch(
      () => undefined,
    );
    return pool();
  };
  const healthBecomes = async (wanted: 'up' | 'down', service = 'nri'): Promise<string> => {
    const health = async () => ((await isHealthy(daemon, service)) ? 'up' : 'down');
    await waitUntil('health', async () => (await health()) === wanted, patience.deadlineMs).catch(() => undefined);
    return health();
  };
  const removeAll = async (): Promise<void> => {
    for (const pod of pods) await pod.remove();
    pods = [];
  };

  defineOnce(suite, () => {
    table.row(
      'cpusetd killed',
      {
        'pinned container': exclusiveList,
        'one started meanwhile': onlineCpus,
        'after the start': '0',
        gap: '1 container',
      },
      async () => {
        await start();
        const db = await run(pinned);
        await daemon.kill();
        const web = await run(shared);
        const meanwhile = on(web);
        await startAgain();
        const gap = await closedGap();
        return {
          'pinned container': on(db),
          'one started meanwhile': meanwhile,
          'after the start': on(web),
          gap: `${gap.containers} container`,
        };
      },
    );

    table.row(
      'cpusetd killed; a container starts without a free CPU',
      {
        'at the return': '0 pending',
        'the one that has it': `${exclusiveList} kept`,
        'when the CPU is free': `${exclusiveList} kept`,
      },
      async () => {
        await start();
        const db = await run(pinned);
        await daemon.kill();
        const late = await run(pinned);
        await startAgain();
        await settlesOn(late, '0');
        const facts = { 'at the return': await shownOn(late, 'pending'), 'the one that has it': await shownOn(db) };
        await pods.shift()!.remove();
        await settlesOn(late, exclusiveList);
        const kept = async () => (await shownOn(late)).endsWith('kept');
        await waitUntil('its verdict', kept, patience.deadlineMs).catch(() => undefined);
        return { ...facts, 'when the CPU is free': await shownOn(late) };
      },
    );
  });

  table.row(
    'containerd killed, its socket replaced',
    {
      'health of nri, cri while it is away': 'down, down',
      'pinned container': exclusiveList,
      'shared one': '0',
      'health then': 'up, up',
      'another exclusive one': 'refused: 0 can be given now',
      'when the pods are gone': onlineCpus,
    },
    async () => {
      await start();
      const web = await run(shared);
      const db = await run(pinned);
      const mark = daemon.mark();
      await runtime.kill();
      const health = [await healthBecomes('down'), await healthBecomes('down', 'cri')].join(', ');
      await runtime.start();
      await synchronized(mark);
      const facts = {
        'pinned container': on(db),
        'shared one': on(web),
        'another exclusive one': await attempt(pinned, /0 can be given now/),
      };
      await removeAll();
      return {
        'health of nri, cri while it is away': health,
        'health then': [await healthBecomes('up'), await healthBecomes('up', 'cri')].join(', '),
        ...facts,
        'when the pods are gone': await releasesAll(),
      };
    },
  );

  table.row(
    'cpusetd and containerd killed; a pod is removed and another starts before cpusetd is back',
    {
      'new one at first': onlineCpus,
      'after the start': exclusiveList,
      'shared one': '0',
      gap: '1 container',
    },
    async () => {
      await start();
      const web = await run(shared);
      await run(pinned);
      await Promise.all([daemon.kill(), runtime.kill()]);
      await runtime.start();
      await pods.pop()!.remove();
      const db = await run(pinned);
      const atFirst = on(db);
      await startAgain();
      const gap = await closedGap();
      return {
        'new one at first': atFirst,
        'after the start': on(db),
        'shared one': on(web),
        gap: `${gap.containers} container`,
      };
    },
  );

  defineOnce(suite, () => {
    table.row(
      'disk full',
      {
        'exclusive container': 'refused: could not be written to disk',
        'shared one': `runs on ${onlineCpus}`,
        alarm: 'state-not-saved',
        'with space again': `runs on ${exclusiveList}`,
        'alarm then': 'none',
      },
      () =>
        onSmallDisk(async (disk) => {
          await start({ stateDir: disk.path });
          disk.fill();
          const refused = await attempt(pinned, /could not be written to disk/);
          const web = await attempt(shared, /.*/);
          const alarm = await alarmsBecome('state-not-saved');
          disk.makeSpace();
          return {
            'exclusive container': refused,
            'shared one': web,
            alarm,
            'with space again': await attempt(pinned, /.*/),
            'alarm then': await alarmsBecome('none'),
          };
        }),
    );

    table.row(
      'disk full at the start',
      {
        'running one': `${exclusiveList} kept`,
        'shared one': 'runs on 0',
        'with space again, in another pod': `runs on ${exclusiveList}`,
      },
      () =>
        onSmallDisk(async (disk) => {
          await start({ stateDir: disk.path });
          const db = await run(pinned);
          await daemon.kill();
          disk.fill();
          await startAgain();
          const facts = { 'running one': await shownOn(db), 'shared one': await attempt(shared, /.*/) };
          disk.makeSpace();
          await pods.shift()!.remove();
          await releasesAll();
          return { ...facts, 'with space again, in another pod': await attempt(pinned, /.*/) };
        }),
    );

    table.row(
      'state directory read-only at the start',
      {
        'running one': `${exclusiveList} kept`,
        alarm: 'state-not-saved',
        'a second cpusetd': 'ends with 1',
        'shared one': 'runs on 0',
        'exclusive one in its pod': 'refused: could not be written to disk',
        'alarm when it is writable': 'none',
        'exclusive one then': `runs on ${exclusiveList}`,
      },
      () =>
        onSmallDisk(async (disk) => {
          await start({ stateDir: disk.path });
          const db = await run(pinned);
          await daemon.kill();
          disk.remount('ro');
          await startAgain();
          const second = startDaemon({ runtime, args: ['--reserved-cpus', '0'], stateDir: disk.path });
          const status = await second.ended(patience.deadlineMs);
          await second.dispose();
          const facts = {
            'running one': await shownOn(db),
            alarm: await alarmsBecome('state-not-saved'),
            'a second cpusetd': `ends with ${String(status)}`,
            'shared one': await attempt(shared, /.*/),
          };
          await pods.shift()!.remove();
          await releasesAll();
          const refused = await attempt(pinned, /could not be written to disk/);
          disk.remount('rw');
          const alarm = async () => (await alarms()) === 'none';
          await waitUntil('the end of the alarm', alarm, patience.deadlineMs).catch(() => undefined);
          return {
            ...facts,
            'exclusive one in its pod': refused,
            'alarm when it is writable': await alarms(),
            'exclusive one then': await attempt(pinned, /.*/),
          };
        }),
    );
  });

  const damages: readonly (readonly [name: string, keptAside: string, damage: (file: string) => void])[] = [
    ['truncated', 'kept aside', (file) => truncateSync(file, 100)],
    ['empty', 'kept aside', (file) => truncateSync(file, 0)],
    [
      'garbled',
      'kept aside',
      (file) => writeFileSync(file, Buffer.from(readFileSync(file).map((byte, i) => byte ^ (i % 251)))),
    ],
    ['removed', 'none', (file) => rmSync(file)],
  ];
  defineOnce(suite, () => {
    for (const [name, keptAside, damage] of damages) {
      table.row(
        `state file ${name} while cpusetd is down`,
        {
          'pinned container': `${exclusiveList} kept`,
          'shared one': '0',
          'bad file': keptAside,
          'another exclusive one': 'refused: 0 can be given now',
        },
        async () => {
          await start();
          const web = await run(shared);
          const db = await run(pinned);
          await daemon.kill();
          damage(join(daemon.stateDir, 'state.json'));
          const mark = daemon.mark();
          await startAgain();
          const setAside = daemon.log.lines.slice(mark).some(({ movedTo }) => typeof movedTo === 'string');
          return {
            'pinned container': await shownOn(db),
            'shared one': on(web),
            'bad file': setAside ? 'kept aside' : 'none',
            'another exclusive one': await attempt(pinned, /0 can be given now/),
          };
        },
      );
    }
  });

  table.row(
    'event loop stalled for 2.5 s (SIGSTOP)',
    {
      'pinned container': exclusiveList,
      'one created meanwhile': onlineCpus,
      afterwards: '0',
      'gap begins': 'with the stop',
      'gap ends': 'after it',
      'its containers': 'the one',
    },
    async () => {
      await start();
      const db = await run(pinned);
      const mark = daemon.mark();
      const stoppedAtMs = Date.now();
      process.kill(daemon.pid, 'SIGSTOP');
      let web: RunningContainer;
      try {
        // containerd waits 2 s for each of the two answers, for the pod and for the container, and then goes on.
        web = await run(shared);
        await web.firstLine();
      } finally {
        process.kill(daemon.pid, 'SIGCONT');
      }
      const goesOnAtMs = Date.now();
      const meanwhile = await web.firstLine();
      await synchronized(mark);
      const gap = await closedGap();
      const earlyMs = stoppedAtMs - Date.parse(gap.from);
      const lateMs = Date.parse(gap.to!) - goesOnAtMs;
      return {
        'pinned container': on(db),
        'one created meanwhile': meanwhile,
        afterwards: await settlesOn(web, '0'),
        // The last heartbeat comes before the stop; on a machine under load it may come some time before.
        'gap begins': earlyMs >= -50 && earlyMs < 2_000 ? 'with the stop' : `${earlyMs} ms before the stop`,
        'gap ends': lateMs >= 0 ? 'after it' : `${-lateMs} ms before the process went on`,
        'its containers': gap.names.join() === `default/${pods[1]!.name}/web` ? 'the one' : gap.names.join(),
      };
    },
  );

  defineOnce(suite, () => {
    table.row(
      'clock stepped a day back, then two days on',
      {
        'pinned container': `${exclusiveList} kept, ${exclusiveList} kept`,
        'a foreign write': `${exclusiveList}, ${exclusiveList}`,
        'another exclusive one': 'refused: 0 can be given now',
        'gap after a crash then': 'shorter than a minute',
      },
      async () => {
        await start({ env: { NODE_OPTIONS: `--require ${join(__dirname, 'step-clock.cjs')}` }, clock: 'stepped' });
        const db = await run(pinned);
        const kept: string[] = [];
        const repaired: string[] = [];
        for (let steps = 0; steps < 2; steps++) {
          process.kill(daemon.pid, 'SIGUSR2');
          db.writeCpuset(onlineCpus);
          repaired.push(await settlesOn(db, exclusiveList));
          const isKept = async () => (await shownOn(db)).endsWith('kept');
          await waitUntil('the verdict', isKept, patience.deadlineMs).catch(() => undefined);
          kept.push(await shownOn(db));
        }
        const refused = await attempt(pinned, /0 can be given now/);
        // Its last heartbeat is then a day ahead of the clock at its next start.
        const lifeMs = () => statSync(join(daemon.stateDir, 'lock')).mtimeMs;
        await waitUntil('a heartbeat', () => lifeMs() > Date.now(), patience.deadlineMs);
        await daemon.kill();
        await startAgain();
        const gap = await closedGap();
        const seconds = (Date.parse(gap.to!) - Date.parse(gap.from)) / 1000;
        return {
          'pinned container': kept.join(', '),
          'a foreign write': repaired.join(', '),
          'another exclusive one': refused,
          'gap after a crash then': seconds >= 0 && seconds < 60 ? 'shorter than a minute' : `${seconds} s`,
        };
      },
    );
  });

  table.row(
    'container killed past cpusetd',
    {
      'shared one while the pod is there': '0',
      'started again in its pod': exclusiveList,
      'when the pod is gone': onlineCpus,
    },
    async () => {
      await start();
      const web = await run(shared);
      const db = await run(pinned);
      killProcessesOf(db);
      await db.exitCode(patience.deadlineMs);
      const meanwhile = on(web);
      const again = await pods[1]!.startContainer('db');
      const facts = {
        'shared one while the pod is there': meanwhile,
        'started again in its pod': await again.firstLine(),
      };
      await pods.pop()!.remove();
      return { ...facts, 'when the pod is gone': await settlesOn(web, onlineCpus) };
    },
  );

  table.row(
    'container killed while containerd is away',
    { 'started again in its pod': exclusiveList, 'shared one': '0', 'when the pod is gone': onlineCpus },
    async () => {
      await start();
      const web = await run(shared);
      const db = await run(pinned);
      const mark = daemon.mark();
      await runtime.kill();
      killProcessesOf(db);
      await runtime.start();
      await synchronized(mark);
      const again = await pods[1]!.startContainer('db');
      const facts = { 'started again in its pod': await again.firstLine(), 'shared one': on(web) };
      await pods.pop()!.remove();
      return { ...facts, 'when the pod is gone': await settlesOn(web, onlineCpus) };
    },
  );

  table.row(
    'cgroup of one container can not be written',
    { 'that one, through the runtime': '0', 'the other one': '0', 'exclusive one': `runs on ${exclusiveList}` },
    async () => {
      await start();
      const [web, other] = [await run(shared), await run(shared)];
      const folder = cpusetDirOf(web.cgroupPath);
      // Only for this process and the daemon: the runtime has mounts of its own.
      execFileSync('mount', ['--bind', folder, folder]);
      try {
        execFileSync('mount', ['-o', 'remount,bind,ro', folder]);
        const exclusive = await attempt(pinned, /.*/);
        return {
          'that one, through the runtime': await settlesOn(web, '0'),
          'the other one': on(other),
          'exclusive one': exclusive,
        };
      } finally {
        execFileSync('umount', ['--lazy', folder]); // cpusetd may be reading a file of it
      }
    },
  );

  // Only cgroup version 1 has a way to make the update fail.
  const isVersion1 = !existsSync('/sys/fs/cgroup/cgroup.controllers');
  defineUnless(isVersion1 ? undefined : 'cgroup version 1 is needed', () =>
    table.row(
      'runtime fails the update of one container',
      {
        'that one': onlineCpus,
        'its verdict': 'drifted',
        'the other one': '0',
        'exclusive one': `runs on ${exclusiveList}`,
        'when it can be moved': '0',
      },
      async () => {
        await start({ args: ['--cgroup-writes', 'off'] });
        const [web, other] = [await run(shared), await run(shared)];
        // The kernel does not take CPUs from a cgroup of version 1 while a child of it has them.
        const child = join(cpusetDirOf(web.cgroupPath), 'child');
        mkdirSync(child);
        try {
          writeFileSync(join(child, 'cpuset.cpus'), onlineCpus);
          const exclusive = await attempt(pinned, /.*/);
          const verdict = async () =>
            (await readStatus(daemon)).containers.find(({ id }) => id === web.id)!.verdict.kind;
          await waitUntil('the verdict', async () => (await verdict()) === 'drifted', patience.deadlineMs).catch(
            () => undefined,
          );
          const facts = {
            'that one': on(web),
            'its verdict': await verdict(),
            'the other one': await settlesOn(other, '0'),
            'exclusive one': exclusive,
          };
          rmdirSync(child);
          return { ...facts, 'when it can be moved': await settlesOn(web, '0') };
        } finally {
          if (existsSync(child)) rmdirSync(child);
        }
      },
    ),
  );

  /** Runs with a state directory on a file system of its own. */
  async function onSmallDisk(act: (disk: SmallDisk) => Promise<Facts>): Promise<Facts> {
    const disk = new SmallDisk(join(runtime.work, 'small-disk'));
    try {
      return await act(disk);
    } finally {
      await daemon.stop();
      disk.close();
    }
  }

  /** The CPUs and the verdict of a container, when the verdict has become the wanted one or does not. */
  async function shownOn(container: RunningContainer, wanted = 'kept'): Promise<string> {
    const verdict = async () =>
      (await readStatus(daemon)).containers.find(({ id }) => id === container.id)?.verdict.kind ?? 'unknown';
    await waitUntil('the verdict', async () => (await verdict()) === wanted, patience.deadlineMs).catch(
      () => undefined,
    );
    return `${on(container)} ${await verdict()}`;
  }

  /** The last gap, which is over once the daemon is synchronized. */
  const closedGap = () =>
    poll('the end of the gap', async () => {
      const { gap } = (await readStatus(daemon)).node;
      return gap.to === undefined ? undefined : gap;
    });

  async function alarmsBecome(wanted: string): Promise<string> {
    await waitUntil('the alarm', async () => (await alarms()) === wanted, patience.deadlineMs).catch(() => undefined);
    return alarms();
  }

  async function alarms(): Promise<string> {
    return (await readStatus(daemon)).node.alarms.map(({ kind }) => kind).join(', ') || 'none';
  }
});

function killProcessesOf(container: RunningContainer): void {
  for (const pid of container.pids()) process.kill(pid, 'SIGKILL');
}
