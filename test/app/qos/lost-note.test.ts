import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { useTempDirs } from '../../state/support/temp-dir';
import { actingNode, FakeNode, INTERVAL_MS, NOTE_FILE, onDisk, PERIOD_US } from './support/acting-node';

const makeDir = useTempDirs();
const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

beforeEach(() => jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask'] }));
afterEach(() => jest.useRealTimers());

/**
 * A process that has lowered quotas of `a` (a limit of 4 CPUs) and `b` (no limit), and was killed; its note was changed
 * then.
 */
async function killed(spoil: (text: string) => string) {
  const [node, stateDir] = [new FakeNode(), makeDir()];
  node.add('a', { milliCpu: 4_000, quotaUs: 4 * PERIOD_US, requestMilliCpu: 100 });
  node.add('b', { milliCpu: 3_000 });
  node.cpuUsage = 8_000;
  const acting = actingNode({ node, stateDir, perHour: 100 });
  void acting.run();
  await pass(0);
  for (let round = 0; round < 3; round++) {
    await Promise.all([acting.collect(), pass(0)]);
    await pass(INTERVAL_MS);
  }
  expect(node.changed).toEqual(['a', 'b']);
  acting.kill();
  const path = join(stateDir, NOTE_FILE);
  writeFileSync(path, spoil(readFileSync(path, 'utf8')));
  return { node, stateDir };
}

const SPOILED = [
  ['it is not JSON any more', (text: string) => text.replace('"version":1', '"version":;')],
  ['it is cut off', (text: string) => text.slice(0, text.length / 2)],
  ['it is empty', () => ''],
  ['a digit of an original has changed', (text: string) => text.replace('"originalUs":400000', '"originalUs":900000')],
  ['the checksum was removed', (text: string) => text.replace(/,"checksum":"[^"]*"/, '')],
  ['the name of the checksum has changed', (text: string) => text.replace('"checksum"', '"checksun"')],
  ['it has another version', (text: string) => text.replace('"version":1', '"version":7')],
] as const;

test.each(SPOILED)(
  'the note is lost (%s): the kill switch leaves no quota lowered, and the budget does not begin anew',
  async (_, spoil) => {
    const { node, stateDir } = await killed(spoil);
    const next = actingNode({ node, stateDir, perHour: 100 });
    void next.run();
    await pass(0);
    await Promise.all([next.collect(), pass(0)]);
    expect([node.quotas, node.isTainted]).toEqual([{ a: 4 * PERIOD_US, b: -1 }, false]);
    expect(next.alarms.list()).toMatchObject([{ kind: 'note-set-aside', subject: NOTE_FILE }]);
    expect(next.avoidance.status).toMatchObject({ actionsLeft: 0, evictionsLeft: 0, throttled: [] });
    next.set({ qosActions: 'off' });
    await pass(INTERVAL_MS);
    expect([node.quotas, node.isTainted]).toEqual([{ a: 4 * PERIOD_US, b: -1 }, false]);
    expect(readdirSync(stateDir).sort()).toEqual([NOTE_FILE, `${NOTE_FILE}.bad-1`]);
    next.kill();
  },
);

test('what a lost note may have listed is undone when the API server can tell the specs, also by a later process', async () => {
  const { node, stateDir } = await killed(() => '');
  node.isApiAway = true;
  const lowered = { ...node.quotas };
  const second = actingNode({ node, stateDir });
  void second.run();
  await pass(5_000);
  expect(node.quotas).toEqual(lowered);
  expect(second.alarms.list()).toMatchObject([
    { kind: 'note-set-aside' },
    { kind: 'qos-actions', subject: 'undo', because: expect.stringContaining('CFS quotas of a lost record') },
  ]);
  second.kill();
  const third = actingNode({ node, stateDir });
  void third.run();
  await pass(5_000);
  node.isApiAway = false;
  await pass(60_000);
  expect(node.quotas).toEqual({ a: 4 * PERIOD_US, b: -1 });
  expect(third.alarms.list()).toMatchObject([{ kind: 'note-set-aside' }]);
  expect(onDisk(stateDir)).not.toHaveProperty('owesUnknown');
  third.kill();
});

test('a quota that can not be read is owed, which is an alarm, until it can be', async () => {
  const { node, stateDir } = await killed(() => '');
  const lowered = node.quotas['a'];
  node.unreadable.add('a');
  const next = actingNode({ node, stateDir });
  void next.run();
  await pass(5_000);
  expect(node.quotas).toEqual({ a: lowered, b: -1 });
  expect(next.alarms.list()).toMatchObject([
    { kind: 'note-set-aside' },
    { kind: 'qos-actions', subject: 'undo', because: expect.stringMatching(/a\/main: its quota can't be read/) },
  ]);
  node.unreadable.clear();
  await pass(60_000);
  expect(node.quotas).toEqual({ a: 4 * PERIOD_US, b: -1 });
  expect(next.alarms.list()).toMatchObject([{ kind: 'note-set-aside' }]);
  expect(onDisk(stateDir)).not.toHaveProperty('owesUnknown');
  next.kill();
});

describe('a container that can not be undone after its note is lost', () => {
  const HOUR_MS = 3_600_000;
  const isOwed = /CFS quotas of a lost record can't be put back: /;

  /** The quota of `a` is owed, `b` is undone, and nobody has removed what was set aside. */
  async function owing(break_: (node: FakeNode) => void) {
    const { node, stateDir } = await killed(() => '');
    break_(node);
    const next = actingNode({ node, stateDir, perHour: 100 });
    void next.run();
    const rounds = async (times: number): Promise<void> => {
      for (let round = 0; round < times; round++) {
        await Promise.all([next.collect(), pass(0)]);
        await pass(INTERVAL_MS);
      }
    };
    const lookedAt = async (): Promise<void> => {
      rmSync(join(stateDir, `${NOTE_FILE}.bad-1`));
      jest.setSystemTime(Date.now() + HOUR_MS);
      await rounds(3);
    };
    await rounds(2);
    return { ...next, node, stateDir, rounds, lookedAt };
  }

  const refuseA = (node: FakeNode): void => {
    node.during = (call, at, subject) => {
      if (call === 'update' && at === 'before' && subject === 'a') throw new Error('the runtime refuses it');
    };
  };

  test.each([
    ['the runtime refuses it', refuseA],
    ['its quota can not be read', (node: FakeNode) => void node.unreadable.add('a')],
  ])('keeps rules from no other, and is left alone until it is undone (%s)', async (_, break_) => {
    const acting = await owing(break_);
    const { node, stateDir } = acting;
    const lowered = node.quotas['a'];
    await acting.lookedAt();
    expect(node.quotas).toEqual({ a: lowered, b: expect.any(Number) });
    expect(node.quotas['b']).toBeGreaterThan(0);
    expect(acting.avoidance.status).toMatchObject({
      because: '',
      throttled: [{ pod: 'b' }],
      rules: [{ state: 'triggered' }],
    });
    expect(acting.alarms.list()).toMatchObject([{ kind: 'qos-actions', because: expect.stringMatching(isOwed) }]);
    expect(onDisk(stateDir)).toMatchObject({ owesUnknown: true });
    node.during = () => undefined;
    node.unreadable.clear();
    node.cpuUsage = 500;
    await acting.rounds(20);
    expect(node.quotas).toEqual({ a: 4 * PERIOD_US, b: -1 });
    expect(acting.alarms.list()).toEqual([]);
    expect(onDisk(stateDir)).not.toHaveProperty('owesUnknown');
    acting.kill();
  });

  test('is tried again with growing pauses, which raises no quota that a rule has lowered since', async () => {
    const acting = await owing(refuseA);
    await acting.lookedAt();
    acting.node.updates.length = 0;
    const lowered = acting.node.quotas['b']!;
    await acting.rounds(60);
    const tried = acting.node.updates.filter(({ containerId }) => containerId === 'a');
    expect(tried.length).toBeGreaterThan(4);
    expect(tried.length).toBeLessThan(16);
    expect(acting.node.quotas['b']).toBeLessThanOrEqual(lowered);
    acting.kill();
  });

  test('does not lift the rule that nothing is done until somebody has looked at the note', async () => {
    const acting = await owing(refuseA);
    jest.setSystemTime(Date.now() + HOUR_MS);
    await acting.rounds(5);
    expect(acting.node.quotas['b']).toBe(-1);
    expect(acting.avoidance.status.because).toMatch('earlier QoS actions are not known, so none is taken');
    acting.kill();
  });

  test('while the API server has not told what it is owed, no rule is followed, and status says so', async () => {
    const acting = await owing((node) => (node.isApiAway = true));
    expect(acting.avoidance.status.because).toMatch(/what an earlier process left is not undone yet: .*lost record/);
    acting.kill();
  });
});

test('a quota is not raised to a limit that the kubelet has not granted: it is owed until the resize is decided', async () => {
  const { node, stateDir } = await killed(() => '');
  const lowered = node.quotas['a'];
  const [a, ...others] = node.pods;
  node.pods = [{ ...a!, isResizePending: true, containers: [{ name: 'main', limitMilliCpu: 6_000 }] }, ...others];
  const next = actingNode({ node, stateDir });
  void next.run();
  await pass(5_000);
  expect(node.quotas).toEqual({ a: lowered, b: -1 });
  expect(next.alarms.list()).toMatchObject([
    { kind: 'note-set-aside' },
    { kind: 'qos-actions', because: expect.stringMatching(/jobs\/a\/main: the kubelet has not granted a resize/) },
  ]);
  node.pods = [a!, ...others];
  await pass(60_000);
  expect(node.quotas).toEqual({ a: 4 * PERIOD_US, b: -1 });
  expect(next.alarms.list()).toMatchObject([{ kind: 'note-set-aside' }]);
  next.kill();
});

/** A note of an earlier version has no checksum, so anybody can have changed it. */
const unsealed = (text: string): string => text.replace('"sealed":true,', '').replace(/,"checksum":"[^"]*"/, '');

test.each([
  ['400000', '-1'],
  ['400000', '1000'],
  ['400000', '900000'],
  ['-1', '20000'],
])(
  'an original that can not be of its container is not written, the quota of its limit is (%s, changed to %s)',
  async (scope, original) => {
    const { node, stateDir } = await killed((text) =>
      unsealed(text).replace(`"originalUs":${scope}`, `"originalUs":${original}`),
    );
    const next = actingNode({ node, stateDir });
    void next.run();
    await pass(0);
    expect(node.quotas).toEqual({ a: 4 * PERIOD_US, b: -1 });
    expect(next.alarms.list()).toEqual([]);
    next.kill();
  },
);

test('a note of the version before, without a checksum, is undone as it says', async () => {
  const { node, stateDir } = await killed((text) => unsealed(text).replace(/,"(actions|evictions)Of":\[[^\]]*\]/g, ''));
  const next = actingNode({ node, stateDir, perHour: 100 });
  void next.run();
  await pass(0);
  expect(node.quotas).toEqual({ a: 4 * PERIOD_US, b: -1 });
  expect(next.avoidance.status.actionsLeft).toBeLessThan(100);
  next.kill();
});
