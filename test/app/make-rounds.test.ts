import { mkdtempSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { Alarms } from '../../src/app/alarms';
import { Faults } from '../../src/app/faults';
import { makeRounds, type RoundsParts } from '../../src/app/make-rounds';

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'rounds-'))));
afterEach(() => {
  jest.useRealTimers();
  rmSync(folder, { recursive: true, force: true });
});

const ROUNDS = 4;
const log = pino({ level: 'silent' });

/** Makes some rounds, in which each part named in `broken` throws. Returns the parts that were done, and the alarms. */
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
    model: { containers: new Map() },
    onlineCpus: { check: () => (doPart('online CPUs'), false) },
    kubelet: { look: () => doPart('kubelet') },
    watch: { tryAgain: () => doPart('watches') },
    reconciler: {
      check: () => undefined,
      // The last part of a round: told of it even where it is broken itself.
      round: async () => {
        if (++rounds === ROUNDS) stop.abort();
        doPart('reconciler');
      },
    },
    faults: new Faults({ log, alarms }),
    lockPath,
    periodMs: 1,
    signal: stop.signal,
  } as unknown as RoundsParts;
  await makeRounds(parts);
  if (statSync(lockPath).mtimeMs > 0) done.add('sign of life');
  return { rounds, done: [...done].sort(), alarms: alarms.list().map(({ subject }) => subject) };
}

const PARTS = ['kubelet', 'online CPUs', 'reconciler', 'watches'];

test('a round has all its parts', async () => {
  expect(await roundsWith()).toEqual({ rounds: ROUNDS, done: [...PARTS, 'sign of life'].sort(), alarms: [] });
});

test.each(PARTS)(
  'a fault in %s ends no round, keeps no other part from its turn, and is an alarm when it lasts',
  async (part) => {
    const { rounds, done, alarms } = await roundsWith(part);
    expect({ rounds, done }).toEqual({
      rounds: ROUNDS,
      done: [...PARTS.filter((other) => other !== part), 'sign of life'].sort(),
    });
    expect(alarms).toEqual([expect.any(String)]);
  },
);

test('a clock that is broken ends no round either', async () => {
  jest.spyOn(Date, 'now').mockImplementation(() => {
    throw new Error('no time');
  });
  try {
    expect(await roundsWith()).toMatchObject({ rounds: ROUNDS, done: PARTS });
  } finally {
    jest.restoreAllMocks();
  }
});

test('the online CPUs are looked at every second, whatever the period of the rounds, and every container after a change', async () => {
  jest.useFakeTimers();
  writeFileSync(join(folder, 'lock'), '');
  const looks = { online: 0, rounds: 0, checked: [] as (readonly string[])[] };
  let hasChanged = false;
  const stop = new AbortController();
  const parts = {
    model: { containers: new Map([['db', {}], ['web', {}]]) }, // prettier-ignore
    onlineCpus: { check: () => (looks.online++, hasChanged) },
    kubelet: { look: () => undefined },
    watch: { tryAgain: () => undefined },
    reconciler: {
      round: () => (looks.rounds++, Promise.resolve()),
      check: (ids: readonly string[]) => void looks.checked.push(ids),
    },
    faults: new Faults({ log, alarms: new Alarms({ log, now: () => '', onChange: () => undefined }) }),
    lockPath: join(folder, 'lock'),
    periodMs: 3_600_000,
    signal: stop.signal,
  } as unknown as RoundsParts;
  const ended = makeRounds(parts);
  await jest.advanceTimersByTimeAsync(0);
  expect(looks).toEqual({ online: 2, rounds: 1, checked: [] }); // one in the round, one beside it
  await jest.advanceTimersByTimeAsync(10_000);
  expect(looks).toEqual({ online: 12, rounds: 1, checked: [] });
  hasChanged = true;
  await jest.advanceTimersByTimeAsync(1_000);
  expect(looks.checked).toEqual([['db', 'web']]);
  stop.abort();
  await ended;
});
