import { mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { isOwed, OWED } from '../../../src/app/owed-effects/owed';
import { QosActionsNote } from '../../../src/app/qos/qos-actions-note';
import type { Throttle } from '../../../src/qos/avoidance/situation';
import { nodeFsOps, type FsOps } from '../../../src/files/fs-ops';
import { dieBefore, fsError } from '../../state/support/fs-doubles';
import { useTempDirs } from '../../state/support/temp-dir';
import { actingNode, FakeNode, NOTE_FILE } from './support/acting-node';

const makeDir = useTempDirs();
const log = pino({ level: 'silent' });
const HOUR_MS = 3_600_000;
/** Operations of a file that is read and good. */
const READING_OPS = 3;
const throttleOf = (id: string): Throttle => ({
  id,
  podUid: 'u',
  namespace: 'jobs',
  pod: 'a',
  container: 'main',
  periodUs: 100_000,
  originalUs: -1,
  quotaUs: 50_000,
  previousUs: -1,
  causes: [],
  sinceMs: 0,
});

function open(stateDir: string, { bootId = 'boot-1', fs }: { bootId?: string; fs?: FsOps } = {}): QosActionsNote {
  const note = new QosActionsNote({ stateDir, bootId, log, ...(fs && { fs }) });
  note.load(0);
  return note;
}

test('a process that dies at any operation of a save leaves what was before or what was saved, and has not returned', () => {
  const outcomes = { before: 0, after: 0, saved: 0 };
  for (let at = 0; outcomes.saved === 0 && at < 50; at++) {
    const stateDir = makeDir();
    open(stateDir).saveThrottles([throttleOf('a')], { namespaces: ['jobs'], nowMs: 1 });
    let hasReturned = true;
    let note: QosActionsNote | undefined;
    try {
      note = open(stateDir, { fs: dieBefore(at + READING_OPS) });
      note.saveThrottles([throttleOf('a'), throttleOf('b')], { namespaces: ['jobs'], nowMs: 2 });
    } catch {
      hasReturned = false;
      expect(note?.throttles).toEqual([throttleOf('a')]);
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
  const note = open(stateDir);
  note.saveThrottles([throttleOf('a')], { namespaces: ['jobs'], nowMs: 1 });
  note.saveTaint(true, { namespaces: ['jobs'], nowMs: 1 });
  const next = open(stateDir, { bootId: 'boot-2' });
  expect([next.throttles, next.tainted]).toEqual([[], true]);
  expect(next.spent(2)).toEqual({ actions: 2, evictions: 0, by: new Map([['jobs', { actions: 2, evictions: 0 }]]) });
});

test('of a file that is lost nothing is known: the taint and quotas count as owed, and the hour as spent', () => {
  const stateDir = makeDir();
  writeFileSync(join(stateDir, NOTE_FILE), '{"version":1,');
  const note = open(stateDir);
  expect([note.throttles, note.tainted, note.owesUnknown]).toEqual([[], true, true]);
  expect(note.spent(HOUR_MS - 1)).toMatchObject({ actions: Infinity, evictions: Infinity });
  expect(note.whyNoAction).toMatch(/^earlier QoS actions are not known, so none is taken/);
  note.saveTaint(false, { namespaces: [], nowMs: 1 });
  expect(open(stateDir)).toMatchObject({ owesUnknown: true, tainted: false });
  note.saveUnknownUndone(2);
  expect(open(stateDir)).toMatchObject({ owesUnknown: false, isInForce: false });
  expect(open(stateDir).spent(HOUR_MS - 1).actions).toBe(Infinity);
  note.tidy(HOUR_MS);
  // Nobody has looked yet: no action is taken, but a start does not undo it again.
  const later = open(stateDir);
  expect(later).toMatchObject({ owesUnknown: false, isInForce: false });
  expect([later.spent(HOUR_MS).actions, later.whyNoAction !== undefined]).toEqual([0, true]);
  rmSync(join(stateDir, `${NOTE_FILE}.bad-1`));
  later.tidy(HOUR_MS);
  expect([readdirSync(stateDir), later.whyNoAction]).toEqual([[], undefined]);
});

test('actions and evictions count for an hour, over restarts; what lies in the future counts from now on', () => {
  const stateDir = makeDir();
  open(stateDir).saveEviction('jobs', 10 * HOUR_MS);
  expect(open(stateDir).spent(11 * HOUR_MS - 1)).toMatchObject({ actions: 1, evictions: 1 });
  expect(open(stateDir).spent(11 * HOUR_MS)).toMatchObject({ actions: 0, evictions: 0 });
  const back = open(stateDir);
  expect(back.spent(2 * HOUR_MS)).toMatchObject({ actions: 1, evictions: 1 });
  back.saveThrottles([], { namespaces: [], nowMs: 2 * HOUR_MS });
  expect(open(stateDir).spent(3 * HOUR_MS - 1)).toMatchObject({ actions: 1, evictions: 1 });
  expect(open(stateDir).spent(3 * HOUR_MS)).toMatchObject({ actions: 0, evictions: 0 });
});

test('an eviction that was refused is given back', () => {
  const note = open(makeDir());
  note.saveEviction('jobs', 5);
  note.saveEviction('jobs', 5);
  note.giveBackEviction('jobs', 5);
  expect(note.spent(6)).toMatchObject({ actions: 1, evictions: 1 });
});

test('throttles that have failed are given back, one for each, and the throttles stay', () => {
  const note = open(makeDir());
  note.saveThrottles([throttleOf('a')], { namespaces: ['jobs', 'jobs', 'shop'], nowMs: 5 });
  note.giveBackActions(['jobs', 'shop'], 5);
  expect(note.spent(6)).toMatchObject({ actions: 1, evictions: 0 });
  expect(note.throttles).toEqual([throttleOf('a')]);
});

test('the file is removed when nothing is left, also one of another boot, and not before the hour is over', () => {
  const stateDir = makeDir();
  open(stateDir).saveThrottles([throttleOf('a')], { namespaces: ['jobs'], nowMs: 0 });
  const next = open(stateDir, { bootId: 'boot-2' });
  next.tidy(HOUR_MS - 1);
  expect(isOwed(stateDir, OWED.qosActions)).toBe(true);
  next.tidy(HOUR_MS);
  expect(isOwed(stateDir, OWED.qosActions)).toBe(false);
});

test.each`
  name                     | spoil
  ${'a folder'}            | ${(path: string) => mkdirSync(path)}
  ${'a link'}              | ${(path: string) => symlinkSync('/etc/hostname', path)}
  ${'empty'}               | ${(path: string) => writeFileSync(path, '')}
  ${'of a wrong checksum'} | ${(path: string) => writeFileSync(path, '{"version":1,"checksum":"sha256:00"}')}
`(
  'a note that is $name is set aside: an alarm and no action until somebody has removed it',
  async ({ spoil }: { readonly spoil: (path: string) => void }) => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask'] });
    const stateDir = makeDir();
    spoil(join(stateDir, NOTE_FILE));
    const node = new FakeNode();
    node.add('a', { milliCpu: 2_000, quotaUs: 400_000 });
    node.cpuUsage = 5_000;
    const acting = actingNode({ stateDir, node });
    const running = acting.run();
    await jest.advanceTimersByTimeAsync(10_000);
    await acting.collect();
    expect([node.updates, node.isTainted]).toEqual([[], false]);
    expect(acting.alarms.list()).toMatchObject([
      { kind: 'note-set-aside', subject: NOTE_FILE, because: expect.stringContaining(`${NOTE_FILE}.bad-1`) },
    ]);
    expect(acting.avoidance.status.because).toMatch(/^earlier QoS actions are not known, so none is taken/);

    rmSync(join(stateDir, `${NOTE_FILE}.bad-1`), { recursive: true });
    await jest.advanceTimersByTimeAsync(HOUR_MS);
    expect(acting.alarms.list()).toEqual([]);
    await acting.collect();
    expect([node.changed, node.isTainted]).toEqual([['a'], true]);
    acting.end.abort();
    await jest.advanceTimersByTimeAsync(8_000);
    await running;
    expect([node.changed, node.isTainted]).toEqual([[], false]);
    jest.useRealTimers();
  },
);

test('a note that can not be read now is kept, which is an alarm, and it is read when it can be', async () => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask'] });
  const stateDir = makeDir();
  open(stateDir).saveThrottles([], { namespaces: ['jobs'], nowMs: Date.now() });
  const node = new FakeNode();
  node.add('a', { milliCpu: 2_000, quotaUs: 400_000 });
  node.cpuUsage = 5_000;
  let isFailing = true;
  const stat: FsOps['stat'] = (path) => {
    if (isFailing) throw fsError('EMFILE');
    return nodeFsOps.stat(path);
  };
  const acting = actingNode({ stateDir, node, fs: { ...nodeFsOps, stat } });
  const running = acting.run();
  await jest.advanceTimersByTimeAsync(10_000);
  await acting.collect();
  expect([node.updates, node.isTainted, readdirSync(stateDir)]).toEqual([[], false, [NOTE_FILE]]);
  expect(acting.alarms.list()).toMatchObject([{ kind: 'qos-actions', subject: 'load' }]);
  isFailing = false;
  await jest.advanceTimersByTimeAsync(80_000);
  expect(acting.alarms.list()).toEqual([]);
  await acting.collect();
  expect([node.changed, acting.avoidance.status.actionsLeft]).toEqual([['a'], 997]);
  acting.end.abort();
  await jest.advanceTimersByTimeAsync(8_000);
  await running;
  jest.useRealTimers();
});
