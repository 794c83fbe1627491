import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { ActionMemory, hasActionMemory } from '../../../src/app/qos/action-memory';
import type { Throttle } from '../../../src/qos/avoidance/situation';
import type { FsOps } from '../../../src/state';
import { dieBefore } from '../../state/support/fs-doubles';
import { useTempDirs } from '../../state/support/temp-dir';
import { actingNode, FakeNode, MEMORY_FILE } from './support/acting-node';

const makeDir = useTempDirs();
const log = pino({ level: 'silent' });
const HOUR_MS = 3_600_000;
const throttleOf = (id: string): Throttle => ({
  ...{ id, podUid: 'u', namespace: 'jobs', pod: 'a', container: 'main', periodUs: 100_000, originalUs: -1 },
  ...{ quotaUs: 50_000, previousUs: -1, causes: [], sinceMs: 0 },
});

function open(stateDir: string, { bootId = 'boot-1', fs }: { bootId?: string; fs?: FsOps } = {}): ActionMemory {
  const memory = new ActionMemory(stateDir, bootId, fs);
  memory.load(log);
  return memory;
}

test('a process that dies at any operation of a save leaves what was before or what was saved, and has not returned', () => {
  const outcomes = { before: 0, after: 0, saved: 0 };
  for (let at = 0; outcomes.saved === 0 && at < 50; at++) {
    const stateDir = makeDir();
    open(stateDir).saveThrottles([throttleOf('a')], { actions: 1, nowMs: 1 });
    const memory = open(stateDir, { fs: dieBefore(at) });
    let hasReturned = true;
    try {
      memory.saveThrottles([throttleOf('a'), throttleOf('b')], { actions: 1, nowMs: 2 });
    } catch {
      hasReturned = false;
      expect(memory.throttles).toEqual([throttleOf('a')]);
    }
    const ids = open(stateDir).throttles.map(({ id }) => id);
    if (hasReturned) {
      outcomes.saved += 1;
      expect(ids).toEqual(['a', 'b']);
    } else {
      expect([['a'], ['a', 'b']]).toContainEqual(ids);
      outcomes[ids.length === 1 ? 'before' : 'after'] += 1;
    }
  }
  expect(outcomes).toEqual({ before: expect.any(Number) as number, after: expect.any(Number) as number, saved: 1 });
  expect(outcomes.before).toBeGreaterThan(2);
  expect(outcomes.after).toBeGreaterThan(0);
});

test('after another boot the containers are forgotten; the taint and the budget are not', () => {
  const stateDir = makeDir();
  const memory = open(stateDir);
  memory.saveThrottles([throttleOf('a')], { actions: 1, nowMs: 1 });
  memory.saveTaint(true, { actions: 1, nowMs: 1 });
  const next = open(stateDir, { bootId: 'boot-2' });
  expect([next.throttles, next.tainted, next.spent(2)]).toEqual([[], true, { actions: 2, evictions: 0 }]);
});

test('of a file that is broken only the taint can be undone', () => {
  const stateDir = makeDir();
  writeFileSync(join(stateDir, MEMORY_FILE), '{"version":1,');
  const memory = open(stateDir);
  expect([memory.throttles, memory.tainted, memory.isInForce]).toEqual([[], true, true]);
  memory.saveTaint(false, { actions: 0, nowMs: 1 });
  expect(hasActionMemory(stateDir)).toBe(false);
});

test('actions and evictions count for an hour, over restarts; what lies in the future counts from now on', () => {
  const stateDir = makeDir();
  open(stateDir).saveEviction(10 * HOUR_MS);
  expect(open(stateDir).spent(11 * HOUR_MS - 1)).toEqual({ actions: 1, evictions: 1 });
  expect(open(stateDir).spent(11 * HOUR_MS)).toEqual({ actions: 0, evictions: 0 });
  const back = open(stateDir);
  expect(back.spent(2 * HOUR_MS)).toEqual({ actions: 1, evictions: 1 });
  back.saveThrottles([], { actions: 0, nowMs: 2 * HOUR_MS });
  expect(open(stateDir).spent(3 * HOUR_MS - 1)).toEqual({ actions: 1, evictions: 1 });
  expect(open(stateDir).spent(3 * HOUR_MS)).toEqual({ actions: 0, evictions: 0 });
});

test('an eviction that was refused is given back', () => {
  const memory = open(makeDir());
  memory.saveEviction(5);
  memory.saveEviction(5);
  memory.giveBackEviction(5);
  expect(memory.spent(6)).toEqual({ actions: 1, evictions: 1 });
});

test('the file is removed when nothing is left, also one of another boot, and not before the hour is over', () => {
  const stateDir = makeDir();
  open(stateDir).saveThrottles([throttleOf('a')], { actions: 1, nowMs: 0 });
  const next = open(stateDir, { bootId: 'boot-2' });
  next.tidy(HOUR_MS - 1);
  expect(hasActionMemory(stateDir)).toBe(true);
  next.tidy(HOUR_MS);
  expect(hasActionMemory(stateDir)).toBe(false);
});

test('a file that can not be read is kept: an alarm, no action, and it is read when it can be', async () => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask'] });
  const stateDir = makeDir();
  const path = join(stateDir, MEMORY_FILE);
  mkdirSync(path);
  const node = new FakeNode();
  node.add('a', { milliCpu: 2_000, quotaUs: 400_000 });
  node.cpuUsage = 5_000;
  const one = actingNode({ stateDir, node });
  const running = one.run();
  await jest.advanceTimersByTimeAsync(10_000);
  await one.collect();
  expect([node.updates, node.isTainted, existsSync(path)]).toEqual([[], false, true]);
  expect(one.alarms.list()).toMatchObject([{ kind: 'qos-actions', subject: 'load' }]);
  rmSync(path, { recursive: true });
  await jest.advanceTimersByTimeAsync(80_000);
  expect(one.alarms.list()).toEqual([]);
  await one.collect();
  expect([node.changed, node.isTainted]).toEqual([['a'], true]);
  one.end.abort();
  await jest.advanceTimersByTimeAsync(8_000);
  await running;
  expect([node.changed, node.isTainted]).toEqual([[], false]);
  jest.useRealTimers();
});
