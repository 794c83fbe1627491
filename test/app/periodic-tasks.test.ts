import { mkdtempSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { HealthState } from '../../src/admin/health-state';
import { Alarms } from '../../src/app/alarms/alarms';
import type { DaemonContext } from '../../src/app/context';
import { runPeriodicTasks, type PeriodicTasksParts } from '../../src/app/periodic-tasks';
import type { NodeView } from '../../src/core/model/node-view';
import type { Cgroups } from '../../src/host';
import { contextOf } from '../support/daemon-context';

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'rounds-'))));
afterEach(() => {
  jest.useRealTimers();
  rmSync(folder, { recursive: true, force: true });
});

const ROUNDS = 4;
const log = pino({ level: 'silent' });

const contextIn = (
  reconcilePeriodMs: number,
  { signal }: AbortController,
  more: Partial<Pick<DaemonContext, 'alarms' | 'health'>> = {},
) =>
  contextOf({
    model: {} as NodeView,
    cgroups: {} as Cgroups,
    config: { reconcilePeriodMs, stateDir: folder },
    signal,
    ...more,
  });

/** Runs some rounds in which the named parts throw. Returns the parts that were done, and the alarms. */
async function roundsWith(...broken: readonly string[]) {
  const lockPath = join(folder, 'lock');
  writeFileSync(lockPath, '');
  utimesSync(lockPath, 0, 0);
  const stop = new AbortController();
  const alarms = new Alarms({ log, now: () => '2026-01-01T00:00:00Z', onChange: () => undefined });
  const done = new Set<string>();
  let rounds = 0;
  const doPart = (part: string): void => {
    if (broken.includes(part)) throw new Error(`${part} is broken`);
    done.add(part);
  };
  const parts = {
    machine: { check: () => (doPart('online CPUs'), false) },
    manager: { look: () => doPart('kubelet') },
    identities: { round: () => doPart('identities') },
    watch: { tryAgain: () => doPart('watches') },
    reconciler: {
      checkAll: () => Promise.resolve(),
      // It counts the round even if it throws; the parts after it run in the last round too.
      round: async () => {
        if (++rounds === ROUNDS) stop.abort();
        doPart('reconciler');
      },
    },
    context: contextIn(1, stop, { alarms }),
    lockPath,
  } as unknown as PeriodicTasksParts;
  await runPeriodicTasks(parts, stop.signal);
  if (statSync(lockPath).mtimeMs > 0) done.add('heartbeat');
  return { rounds, done: [...done].sort(), alarms: alarms.list().map(({ subject }) => subject) };
}

const PARTS = ['identities', 'kubelet', 'online CPUs', 'reconciler', 'watches'];

test('a round runs all its parts', async () => {
  expect(await roundsWith()).toEqual({ rounds: ROUNDS, done: [...PARTS, 'heartbeat'].sort(), alarms: [] });
});

test.each(PARTS)('a fault in %s: all other parts and rounds run, and the lasting fault is an alarm', async (part) => {
  const { rounds, done, alarms } = await roundsWith(part);
  expect({ rounds, done }).toEqual({
    rounds: ROUNDS,
    done: [...PARTS.filter((other) => other !== part), 'heartbeat'].sort(),
  });
  expect(alarms).toEqual([expect.any(String)]);
});

test('a clock that throws: all rounds run', async () => {
  jest.spyOn(Date, 'now').mockImplementation(() => {
    throw new Error('no time');
  });
  try {
    expect(await roundsWith()).toMatchObject({ rounds: ROUNDS, done: PARTS });
  } finally {
    jest.restoreAllMocks();
  }
});

test('a changed period starts a round at once, and the watchdog follows it', async () => {
  jest.useFakeTimers();
  writeFileSync(join(folder, 'lock'), '');
  const seen: (string | number)[] = [];
  const stop = new AbortController();
  const context = contextIn(3_600_000, stop);
  const parts = {
    machine: { check: () => false },
    manager: { look: () => undefined },
    identities: { round: () => undefined },
    watch: { tryAgain: () => undefined },
    reconciler: { round: () => Promise.resolve() },
    context,
    lockPath: join(folder, 'lock'),
    watchdog: { follow: (periodMs: number) => seen.push(periodMs), noteEnd: () => seen.push('fed') },
  } as unknown as PeriodicTasksParts;
  const ended = runPeriodicTasks(parts, stop.signal);
  await jest.advanceTimersByTimeAsync(1_000);
  context.events.emit('optionsChanged', { ...context.config, reconcilePeriodMs: 60_000 });
  await jest.advanceTimersByTimeAsync(0);
  expect(seen).toEqual(['fed', 60_000, 'fed']);
  stop.abort();
  await ended;
});

test('the online CPUs are read every second, however long the period is; a change checks every container', async () => {
  jest.useFakeTimers();
  writeFileSync(join(folder, 'lock'), '');
  const looks = { online: 0, rounds: 0, checked: 0 };
  let hasChanged = false;
  const stop = new AbortController();
  const parts = {
    machine: { check: () => (looks.online++, hasChanged) },
    manager: { look: () => undefined },
    identities: { round: () => undefined },
    watch: { tryAgain: () => undefined },
    reconciler: {
      round: () => (looks.rounds++, Promise.resolve()),
      checkAll: () => (looks.checked++, Promise.resolve()),
    },
    context: contextIn(3_600_000, stop),
    lockPath: join(folder, 'lock'),
  } as unknown as PeriodicTasksParts;
  const ended = runPeriodicTasks(parts, stop.signal);
  await jest.advanceTimersByTimeAsync(0);
  expect(looks).toEqual({ online: 2, rounds: 1, checked: 0 }); // one read in the round, one beside it
  await jest.advanceTimersByTimeAsync(10_000);
  expect(looks).toEqual({ online: 12, rounds: 1, checked: 0 });
  hasChanged = true;
  await jest.advanceTimersByTimeAsync(1_000);
  expect(looks.checked).toBe(1);
  stop.abort();
  await ended;
});

describe('a round that does not end', () => {
  /** Runs rounds whose last part hangs after `hang` until `finish` is called. */
  function hanging(periodMs: number) {
    jest.useFakeTimers();
    writeFileSync(join(folder, 'lock'), '');
    const stop = new AbortController();
    const health = new HealthState();
    health.set('', 'SERVING');
    const alarms = new Alarms({ log, now: () => '', onChange: () => undefined });
    let finish: () => void = () => undefined;
    let hangs = false;
    const watchdog = { fed: 0, noteEnd: () => (watchdog.fed += 1) };
    const parts = {
      machine: { check: () => false },
      manager: { look: () => undefined },
      identities: { round: () => undefined },
      watch: { tryAgain: () => undefined },
      reconciler: {
        checkAll: () => Promise.resolve(),
        round: () => (hangs ? new Promise<void>((resolve) => (finish = resolve)) : Promise.resolve()),
      },
      context: contextIn(periodMs, stop, { health, alarms }),
      lockPath: join(folder, 'lock'),
      watchdog,
    } as unknown as PeriodicTasksParts;
    const ended = runPeriodicTasks(parts, stop.signal);
    return {
      stop,
      ended,
      health,
      watchdog,
      alarms: () => alarms.list().map(({ kind, because }) => `${kind}: ${because}`),
      hang: () => void (hangs = true),
      finish: () => {
        hangs = false;
        finish();
      },
    };
  }

  test.each`
    periodMs  | limitMs
    ${100}    | ${30_000}
    ${10_000} | ${30_000}
    ${60_000} | ${180_000}
  `(
    'period $periodMs ms: after $limitMs ms the daemon is NOT_SERVING with an alarm, until a round ends',
    async ({ periodMs, limitMs }: { periodMs: number; limitMs: number }) => {
      const { stop, ended, health, alarms, hang, finish } = hanging(periodMs);
      await jest.advanceTimersByTimeAsync(10 * limitMs);
      expect([health.get(''), alarms()]).toEqual(['SERVING', []]); // rounds that end
      hang();
      await jest.advanceTimersByTimeAsync(limitMs - 1_000);
      expect([health.get(''), alarms()]).toEqual(['SERVING', []]);
      await jest.advanceTimersByTimeAsync(limitMs);
      const alarm = expect.stringMatching(
        `^rounds-stuck: no round has ended for ${limitMs / 1000} s: .*; restart cpusetd$`,
      );
      expect([health.get(''), alarms()]).toEqual(['NOT_SERVING', [alarm]]);
      finish();
      await jest.advanceTimersByTimeAsync(0);
      expect([health.get(''), alarms()]).toEqual(['SERVING', []]);
      stop.abort();
      await ended;
      expect(jest.getTimerCount()).toBe(0);
    },
  );

  test('starves the watchdog, which each other round feeds', async () => {
    const { stop, ended, watchdog, hang, finish } = hanging(10_000);
    await jest.advanceTimersByTimeAsync(60_000);
    expect(watchdog.fed).toBe(7);
    hang();
    await jest.advanceTimersByTimeAsync(600_000);
    expect(watchdog.fed).toBe(7);
    finish();
    await jest.advanceTimersByTimeAsync(0);
    expect(watchdog.fed).toBe(8);
    stop.abort();
    await ended;
  });

  test('is not assumed when the wall clock is set forward by hours', async () => {
    const { stop, ended, health, alarms } = hanging(60_000);
    await jest.advanceTimersByTimeAsync(60_000);
    jest.setSystemTime(Date.now() + 36_000_000);
    await jest.advanceTimersByTimeAsync(59_000);
    expect([health.get(''), alarms()]).toEqual(['SERVING', []]);
    stop.abort();
    await ended;
  });

  test('delays the shutdown by five seconds at most, and does not change health afterwards', async () => {
    const { stop, ended, health, hang, finish } = hanging(100);
    hang();
    await jest.advanceTimersByTimeAsync(60_000);
    stop.abort();
    let hasEnded = false;
    const end = ended.then(() => (hasEnded = true));
    await jest.advanceTimersByTimeAsync(4_000);
    expect(hasEnded).toBe(false);
    await jest.advanceTimersByTimeAsync(1_000);
    await end;
    finish();
    await jest.advanceTimersByTimeAsync(0);
    expect(health.get('')).toBe('NOT_SERVING');
  });
});
