import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeRounds, type RoundsParts } from '../../src/app/make-rounds';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cpusetd-rounds-'));
  writeFileSync(join(folder, 'lock'), '');
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
  rmSync(folder, { recursive: true });
});

test('the online CPUs are looked at every second, whatever the period of the rounds, and every container after a change', async () => {
  const looks = { online: 0, rounds: 0, checked: [] as (readonly string[])[] };
  let hasChanged = false;
  const stop = new AbortController();
  const parts = {
    model: { containers: new Map([['db', {}], ['web', {}]]) }, // prettier-ignore
    onlineCpus: { check: () => (looks.online++, hasChanged) },
    kubelet: { look: () => undefined },
    reconciler: {
      round: () => (looks.rounds++, Promise.resolve()),
      check: (ids: readonly string[]) => void looks.checked.push(ids),
    },
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
