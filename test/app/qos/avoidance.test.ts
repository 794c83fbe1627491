import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { nodeFsOps } from '../../../src/files/fs-ops';
import { fsError } from '../../state/support/fs-doubles';
import { useTempDirs } from '../../state/support/temp-dir';
import {
  actingNode,
  EVICT,
  FakeNode,
  findForgotten,
  INTERVAL_MS,
  measure,
  NOTE_FILE,
  onDisk,
  ruleOf,
  type ActingOptions,
} from './support/acting-node';

const makeDir = useTempDirs();
const START = Date.parse('2026-01-01T00:00:00Z');

beforeEach(() => jest.useFakeTimers({ now: START, doNotFake: ['nextTick', 'queueMicrotask'] }));
afterEach(() => jest.useRealTimers());

const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

/** A node with a busy pod `a`, and a process that runs. */
function setUp(given: Partial<ActingOptions> = {}) {
  const { node = new FakeNode(), stateDir = makeDir() } = given;
  if (node.containers.size === 0) node.add('a', { milliCpu: 4_000, quotaUs: 400_000 });
  const acting = actingNode({ ...given, node, stateDir });
  const running = acting.run();
  return {
    ...acting,
    node,
    stateDir,
    running,
    /** Some collections, an interval apart. */
    rounds: async (times = 1): Promise<void> => {
      for (let i = 0; i < times; i++) {
        await Promise.all([acting.collect(), pass(0)]);
        await pass(INTERVAL_MS);
      }
    },
    stop: async (): Promise<void> => {
      acting.end.abort();
      await pass(10_000);
      await running;
    },
  };
}

const recordsOf = (acting: { readonly avoidance: { readonly status: { recent: readonly object[] } } }) =>
  acting.avoidance.status.recent.map((record) => Object.values(record).slice(1, 4).join(' '));

describe('modes', () => {
  test('enforce: a triggered rule taints the Node and lowers quotas, a calm one gives them back, and status and Events say so', async () => {
    const acting = setUp();
    await acting.rounds();
    expect(acting.node.changed).toEqual([]);
    acting.node.cpuUsage = 2_000;
    await acting.rounds();
    expect([acting.node.isTainted, acting.node.quotas]).toEqual([true, { a: 200_000 }]);
    expect(acting.avoidance.status).toMatchObject({
      mode: 'enforce',
      because: '',
      rules: [{ rule: 'busy/cpu', state: 'triggered', action: 'slow-down' }],
      schedulingDisabled: { because: 'busy/cpu triggered action slow-down', since: '2026-01-01T00:00:10.000Z' },
      throttled: [{ container: 'main', originalQuotaUs: 400_000, quotaUs: 200_000 }],
      actionsLeft: 998,
    });
    acting.node.cpuUsage = 500;
    await acting.rounds(5);
    expect([acting.node.isTainted, acting.node.quotas]).toEqual([false, { a: 400_000 }]);
    expect(acting.avoidance.status.schedulingDisabled).toBeUndefined();
    expect(acting.nodeEvents.map(({ reason }) => reason)).toEqual(['AvoidanceTriggered', 'RestoreTriggered']);
    expect(acting.nodeEvents.map(({ message }) => message).join()).not.toContain('preview');
    expect(acting.lines.filter(({ level }) => level > 30)).toEqual([]);
    await acting.stop();
  });

  test('the owner of a pod is told by Events on it: that it is throttled, that this has ended, and that it is evicted', async () => {
    const acting = setUp();
    acting.node.cpuUsage = 100_000;
    await acting.rounds(3);
    acting.node.cpuUsage = 500;
    await acting.rounds(12);
    expect(acting.node.changed).toEqual([]);
    acting.node.rules = [ruleOf({ actionName: 'evict' })];
    acting.node.cpuUsage = 5_000;
    await acting.rounds();
    const about = { pod: { uid: 'uid-a', namespace: 'jobs', name: 'a' } };
    const message = (text: string): unknown => expect.stringContaining(text);
    expect(acting.podEvents).toEqual([
      {
        ...about,
        container: 'main',
        type: 'Warning',
        reason: 'CpuThrottled',
        message: message('busy/cpu: cpu_total_usage is 100000, threshold 1000; quota from 400000 us to 200000 us'),
      },
      {
        ...about,
        container: 'main',
        type: 'Normal',
        reason: 'CpuThrottleEnded',
        message: message('to 400000 us'),
      },
      { ...about, type: 'Warning', reason: 'EvictedByRule', message: message('busy/cpu: cpu_total_usage is 5000') },
    ]);
    await acting.stop();
  });

  test('preview: nothing is written and nothing is saved; each step is told once, and Events say that nothing is done', async () => {
    const acting = setUp({ mode: 'preview' });
    acting.node.cpuUsage = 3_000;
    await acting.rounds(4);
    expect([acting.node.updates, acting.node.isTainted, onDisk(acting.stateDir)]).toEqual([[], false, undefined]);
    expect(acting.podEvents).toEqual([]);
    expect(recordsOf(acting)).toEqual(['disable-scheduling node preview', 'throttle jobs/a/main preview']);
    expect(acting.nodeEvents.map(({ message }) => message)).toEqual([
      'busy/cpu triggered action slow-down (preview: nothing is done)',
    ]);
    expect(acting.avoidance.status).toMatchObject({ throttled: [], actionsLeft: 1_000 });
    await acting.stop();
  });

  test('an Event of a rule with the strategy Preview says that nothing is done, also in enforce', async () => {
    const acting = setUp();
    acting.node.rules = [ruleOf({ strategy: 'Preview' })];
    acting.node.cpuUsage = 3_000;
    await acting.rounds(2);
    expect([acting.node.updates, acting.node.isTainted]).toEqual([[], false]);
    expect(acting.nodeEvents.map(({ message }) => message)).toEqual([
      'busy/cpu triggered action slow-down (preview: nothing is done)',
    ]);
    expect(recordsOf(acting)).toEqual(['throttle jobs/a/main preview']);
    await acting.stop();
  });

  test.each(['off', 'preview'] as const)('a change to %s undoes everything at once', async (mode) => {
    const acting = setUp();
    acting.node.cpuUsage = 2_000;
    await acting.rounds();
    expect(acting.node.changed).toEqual(['a']);
    acting.set({ qosActions: mode });
    await pass(0);
    expect([acting.node.changed, acting.node.isTainted]).toEqual([[], false]);
    await acting.rounds(3);
    expect([acting.node.changed, acting.node.isTainted]).toEqual([[], false]);
    expect(acting.avoidance.status).toMatchObject({ mode, because: mode === 'off' ? 'qos-actions is off' : '' });
    acting.set({ qosActions: 'enforce' });
    await acting.rounds();
    expect(acting.node.changed).toEqual(['a']);
    await acting.stop();
  });

  test('a change to off while a round is under way: its other steps are left out, and all is undone', async () => {
    const acting = setUp();
    for (const name of ['b', 'c', 'd']) acting.node.add(name, { milliCpu: 2_000, quotaUs: 400_000 });
    acting.node.cpuUsage = 100_000;
    const lowered: string[] = [];
    acting.node.during = async (call, at, subject) => {
      if (call !== 'update' || at === 'before') return;
      if (acting.node.changed.includes(subject)) lowered.push(subject);
      if (lowered.length === 2) acting.set({ qosActions: 'off' });
      await Promise.resolve();
    };
    await acting.rounds();
    expect(lowered).toHaveLength(2);
    expect([acting.node.changed, acting.node.isTainted]).toEqual([[], false]);
    expect(onDisk(acting.stateDir)).toMatchObject({ tainted: false, throttles: [] });
    await acting.stop();
  });

  test('a change to off is not delayed by a hanging API server: quotas go back at once, the taint later', async () => {
    const acting = setUp();
    acting.node.cpuUsage = 2_000;
    await acting.rounds();
    const answers: (() => void)[] = [];
    acting.node.rules.push(ruleOf({ name: 'memory', actionName: 'evict' }));
    acting.node.during = (call, at) =>
      at === 'before' && call === 'evict' ? new Promise((resolve) => answers.push(resolve)) : undefined;
    acting.collect().catch(() => undefined);
    await pass(0);
    expect([answers.length, acting.node.changed]).toEqual([1, ['a']]);
    acting.set({ qosActions: 'off' });
    await pass(0);
    expect([acting.node.changed, acting.node.isTainted]).toEqual([[], false]);
    answers[0]!();
    await acting.stop();
  });

  test('a change to off right after a failure to undo is not delayed by the back-off', async () => {
    const acting = setUp();
    acting.node.cpuUsage = 2_000;
    await acting.rounds();
    acting.node.isApiAway = true;
    await acting.rounds(10); // the taint stays, the pauses become long
    acting.node.isApiAway = false;
    await acting.rounds();
    expect(acting.node.changed).toEqual(['a']);
    acting.set({ qosActions: 'off' });
    await pass(0);
    expect([acting.node.changed, acting.node.isTainted]).toEqual([[], false]);
    await acting.stop();
  });

  test('figures from before a change to off and back do not become the original', async () => {
    const acting = setUp();
    acting.node.cpuUsage = 2_000;
    await acting.rounds();
    const before = measure(acting.node);
    acting.set({ qosActions: 'off' });
    await pass(0);
    acting.set({ qosActions: 'enforce' });
    await acting.collect(before);
    expect(findForgotten(acting.node, acting.stateDir)).toEqual([]);
    acting.node.rules = [];
    await acting.rounds(3);
    expect(acting.node.changed).toEqual([]);
    await acting.stop();
  });
});

describe('a pod that is being deleted, and whose author gave it a year to end', () => {
  const YEAR_SECONDS = 31_536_000;
  const remove = (node: FakeNode, graceSeconds = YEAR_SECONDS): void => {
    const deletion = { askedAtMs: Date.now(), graceSeconds };
    node.pods = node.pods.map((pod) => ({ ...pod, graceSeconds: YEAR_SECONDS, isBeingDeleted: true, deletion }));
  };

  test('is left alone for two minutes, and then throttled like others', async () => {
    const acting = setUp();
    acting.node.cpuUsage = 2_000;
    await acting.rounds();
    expect(acting.node.quotas).toEqual({ a: 200_000 });
    remove(acting.node);
    await acting.rounds(2);
    expect(acting.node.quotas).toEqual({ a: 400_000 });
    await acting.rounds(12);
    expect(acting.node.quotas['a']).toBeLessThan(400_000);
    await acting.stop();
  });

  test('counts as leaving for two minutes; then others are not evicted for its sake, and it is, where that ends it sooner', async () => {
    const acting = setUp();
    acting.node.rules = [ruleOf({ actionName: 'evict' })];
    acting.node.cpuUsage = 2_000;
    remove(acting.node);
    await acting.rounds(12);
    expect(acting.node.evicted).toEqual([]);
    await acting.rounds(12);
    expect([acting.node.evicted, acting.avoidance.status.evictionsLeft]).toEqual([[], 100]);
    acting.node.actions = [{ ...EVICT, eviction: { graceSeconds: 10 } }];
    await acting.rounds(2);
    expect(acting.node.evicted).toEqual(['a']);
    remove(acting.node, 10);
    await acting.rounds(36);
    expect(acting.node.evicted).toEqual(['a']);
    await acting.stop();
  });
});

describe('without news', () => {
  test('no collection for three intervals: everything is undone, and rules begin anew', async () => {
    const acting = setUp();
    acting.node.cpuUsage = 2_000;
    await acting.rounds();
    await pass(2 * INTERVAL_MS - 1_000);
    expect(acting.node.changed).toEqual(['a']);
    await pass(3_000);
    expect([acting.node.changed, acting.node.isTainted]).toEqual([[], false]);
    expect(acting.avoidance.status.because).toMatch(/^the node was not measured for 3[01] s$/);
    expect(acting.avoidance.status.rules).toEqual([]);
    await acting.stop();
  });

  test.each([
    ['back', -30 * 86_400_000],
    ['forward', 30 * 86_400_000],
  ])('a clock that is set %s does not keep actions in force when nothing is measured any more', async (_, byMs) => {
    const acting = setUp();
    acting.node.cpuUsage = 2_000;
    await acting.rounds();
    jest.setSystemTime(Date.now() + byMs);
    await pass(3 * INTERVAL_MS + 1_000);
    expect([acting.node.changed, acting.node.isTainted]).toEqual([[], false]);
    await acting.stop();
  });

  test('stale metrics do not act; a rule that had triggered and has no data for three rounds restores', async () => {
    const acting = setUp();
    acting.node.cpuUsage = 2_000;
    const old = measure(acting.node);
    await pass(4 * INTERVAL_MS);
    await acting.collect(old);
    expect(acting.node.updates).toEqual([]);
    await acting.rounds();
    expect(acting.node.changed).toEqual(['a']);
    acting.node.cpuUsage = undefined;
    await acting.rounds(2);
    expect([acting.node.changed, acting.node.isTainted]).toEqual([['a'], true]);
    await acting.rounds(2);
    expect([acting.node.changed, acting.node.isTainted]).toEqual([[], false]);
    await acting.stop();
  });

  test('the API server is away: quotas are put back, the taint goes when it answers again, and that is one alarm and few lines', async () => {
    const acting = setUp();
    acting.node.cpuUsage = 2_000;
    await acting.rounds();
    const before = acting.lines.length;
    acting.node.isApiAway = true;
    await acting.rounds(60);
    expect([acting.node.changed, acting.node.isTainted]).toEqual([[], true]);
    expect(acting.avoidance.status).toMatchObject({
      because: 'no news from the API server',
      schedulingDisabled: { because: 'busy/cpu triggered action slow-down' },
      throttled: [],
    });
    expect(acting.alarms.list()).toMatchObject([
      { kind: 'qos-actions', because: expect.stringMatching(/taint of the Node can't be removed: .* away/) as string },
    ]);
    expect(
      acting.lines
        .slice(before)
        .map(({ msg, action }) => `${msg} ${action ?? ''}`)
        .sort(),
    ).toEqual(['QoS action done restore', 'QoS action failed enable-scheduling', 'alarm ']);
    expect(acting.counts.get('enable-scheduling failed')).toBeLessThan(20);
    acting.node.isApiAway = false;
    acting.node.cpuUsage = 500;
    await acting.rounds(2);
    expect([acting.node.isTainted, acting.alarms.list(), acting.avoidance.status.schedulingDisabled]).toEqual([
      false,
      [],
      undefined,
    ]);
    await acting.stop();
  });

  test('while the runtime has not told of its containers, nothing is done', async () => {
    const acting = setUp();
    acting.node.isSynchronized = false;
    acting.node.rules = [ruleOf({ actionName: 'evict' })];
    acting.node.cpuUsage = 3_000;
    await acting.rounds(2);
    expect([acting.node.evicted, acting.node.isTainted]).toEqual([[], false]);
    expect(acting.avoidance.status.because).toBe('the runtime has not sent its containers yet');
    await acting.stop();
  });
});

describe('evictions', () => {
  const evicting = (names: readonly string[], given: Partial<ActingOptions> = {}) => {
    const node = new FakeNode();
    for (const [i, name] of names.entries()) node.add(name, { milliCpu: 1_000, priority: i });
    node.rules = [ruleOf({ actionName: 'evict' })];
    node.cpuUsage = 1_500;
    return setUp({ node, ...given });
  };

  test('a pod that is protected costs no budget, is told once, and others have their turn', async () => {
    const acting = evicting(['a', 'b'], { evictionsPerHour: 1 });
    acting.node.protectedPods.add('a');
    await acting.rounds();
    expect([acting.node.evicted, acting.avoidance.status.evictionsLeft]).toEqual([[], 1]);
    await acting.rounds();
    expect(acting.node.evicted).toEqual(['b']);
    acting.node.remove('b');
    await acting.rounds(60);
    expect(acting.avoidance.status.recent.filter(({ because }) => because.includes('0 disruptions'))).toHaveLength(1);
    expect(acting.lines.filter(({ subject }) => subject === 'jobs/a')).toHaveLength(1);
    await acting.stop();
  });

  test('a protected pod is tried once a minute, and evicted when its budget allows it', async () => {
    const acting = evicting(['a']);
    acting.node.protectedPods.add('a');
    await acting.rounds(60);
    expect(acting.counts.get('evict failed')).toBeGreaterThan(7);
    expect(acting.counts.get('evict failed')).toBeLessThan(11);
    acting.node.protectedPods.clear();
    await acting.rounds(7);
    expect(new Set(acting.node.evicted)).toEqual(new Set(['a']));
    await acting.stop();
  });

  test('a pod that was evicted counts as leaving, also before the API server tells so: no other pod goes for it', async () => {
    const acting = evicting(['a', 'b', 'c']);
    await acting.rounds(3);
    expect(acting.node.evicted).toEqual(['a']);
    await acting.stop();
  });

  test('evictions whose answer is lost stay counted; the budget of the hour is kept over restarts and clocks that are set back', async () => {
    const stateDir = makeDir();
    const acting = evicting(['a', 'b', 'c', 'd'], { stateDir, evictionsPerHour: 2 });
    acting.node.cpuUsage = 100_000;
    acting.node.during = (call, at) => {
      if (call === 'evict' && at === 'after') throw new Error('the answer is lost');
    };
    await acting.rounds();
    expect([acting.node.evicted, acting.avoidance.status.evictionsLeft]).toEqual([['a', 'b'], 0]);
    acting.kill();
    for (const name of ['a', 'b']) acting.node.remove(name);
    jest.setSystemTime(Date.now() - 5 * 3_600_000);
    const next = setUp({ node: acting.node, stateDir, evictionsPerHour: 2 });
    await next.rounds(350);
    expect(acting.node.evicted).toEqual(['a', 'b']);
    expect(recordsOf(next).filter((record) => record.startsWith('evict'))).toEqual(['evict jobs/c failed']);
    await next.rounds(20);
    expect(acting.node.evicted).toHaveLength(4);
    await next.stop();
  });

  test.each([
    ['the pod of a promise is never evicted, not even while its container is created', 'exclusive'],
    ['the pod of a container that is left alone is never evicted', 'left-alone'],
  ] as const)('%s', async (_, placement) => {
    const acting = evicting(['a']);
    acting.node.containers.get('a')!.placement = placement;
    await acting.rounds(3);
    expect(acting.node.evicted).toEqual([]);
    await acting.stop();
  });
});

test('a container that is left alone keeps its quota', async () => {
  const acting = setUp();
  acting.node.containers.get('a')!.placement = 'left-alone';
  acting.node.cpuUsage = 2_000;
  await acting.rounds();
  expect(acting.node.changed).toEqual([]);
  await acting.stop();
});

describe('budgets', () => {
  test('taint, evictions and throttles together stay in the budget; what is left undone is named once', async () => {
    const acting = setUp({ perHour: 2 });
    acting.node.add('b', { milliCpu: 2_000, quotaUs: 400_000 });
    acting.node.cpuUsage = 100_000;
    await acting.rounds(20);
    expect([acting.node.isTainted, acting.node.changed]).toEqual([true, ['a']]);
    expect(acting.avoidance.status.actionsLeft).toBe(0);
    expect(recordsOf(acting).filter((record) => record.endsWith('failed'))).toHaveLength(1);
    await acting.stop();
  });

  test('idle containers beside a burner cost nothing: it is slowed down as far as it can be', async () => {
    const node = new FakeNode();
    for (let i = 0; i < 10; i++) node.add(`idle-${i}`, { milliCpu: 0, quotaUs: 50_000, requestMilliCpu: 10 });
    node.add('burner', { milliCpu: 500, quotaUs: 50_000, requestMilliCpu: 10, priority: 1_000 });
    const burner = node.containers.get('burner')!;
    node.cpuUsage = 4_000;
    const acting = setUp({ node, perHour: 20 });
    for (let round = 0; round < 10; round++) {
      await acting.rounds();
      burner.milliCpu = burner.quotaUs / 100;
    }
    expect([node.changed, burner.quotaUs]).toEqual([['burner'], 5_000]); // 10 % of its limit
    expect(acting.avoidance.status.actionsLeft).toBe(20 - 1 - 4);
    await acting.stop();
    expect(node.changed).toEqual([]);
  });

  test('a namespace can not spend the budget that others need: the share of each survives a restart', async () => {
    const node = new FakeNode();
    for (let i = 0; i < 30; i++) node.add(`greedy-${i}`, { milliCpu: 4_000, quotaUs: 400_000 });
    node.add('other', { milliCpu: 0, quotaUs: 400_000, priority: 5 });
    node.pods = node.pods.map((pod) => (pod.name === 'other' ? { ...pod, namespace: 'else' } : pod));
    node.cpuUsage = 100_000;
    const stateDir = makeDir();
    const first = setUp({ node, stateDir, perHour: 20 });
    await first.rounds(3);
    // All but a quarter, the share of the other namespace; one of them was the taint.
    expect(first.avoidance.status.actionsLeft).toBe(5);
    expect(recordsOf(first)).toContainEqual(
      expect.stringMatching(/^throttle jobs\/greedy-\d+\/main failed$/) as string,
    );
    expect(first.avoidance.status.recent.map(({ because }) => because)).toContainEqual(
      expect.stringMatching(/^the share of namespace jobs in the budget of the hour is spent; \d+ more/) as string,
    );
    first.kill();
    const second = setUp({ node, stateDir, perHour: 20 });
    await pass(2_000);
    node.containers.get('other')!.milliCpu = 4_000;
    await second.rounds();
    expect(node.changed).toContain('other');
    await second.stop();
  });

  test('without budget the Node is not tainted, which is told once', async () => {
    const acting = setUp({ perHour: 0 });
    acting.node.cpuUsage = 2_000;
    await acting.rounds(20);
    expect([acting.node.isTainted, acting.node.changed, acting.avoidance.status.schedulingDisabled]).toEqual([
      false,
      [],
      undefined,
    ]);
    expect(recordsOf(acting)).toEqual(['throttle jobs/a/main failed', 'disable-scheduling node failed']);
    await acting.stop();
  });
});

describe('faults', () => {
  test('when nothing can be saved nothing is done, and that is an alarm until it can', async () => {
    const disk = { isFull: true };
    const fs = {
      ...nodeFsOps,
      fsync: (fd: number) => {
        if (disk.isFull) throw fsError('ENOSPC');
        nodeFsOps.fsync(fd);
      },
    };
    const acting = setUp({ fs });
    acting.node.rules.push(ruleOf({ name: 'evict', actionName: 'evict' }));
    acting.node.cpuUsage = 3_000;
    await acting.rounds(3);
    expect([acting.node.updates, acting.node.isTainted, acting.node.evicted]).toEqual([[], false, []]);
    expect(acting.alarms.list()).toMatchObject([{ because: expect.stringContaining('ENOSPC') as string }]);
    expect(acting.lines.map(({ msg }) => msg)).toEqual(['alarm']);
    disk.isFull = false;
    acting.node.rules.pop();
    await acting.rounds();
    expect([acting.node.isTainted, acting.node.changed, acting.alarms.list()]).toEqual([true, ['a'], []]);
    disk.isFull = true;
    acting.node.rules = [];
    await acting.rounds(2);
    expect([acting.node.changed, acting.node.isTainted]).toEqual([[], false]);
    disk.isFull = false;
    await acting.rounds();
    expect(onDisk(acting.stateDir)).toMatchObject({ tainted: false, throttles: [] });
    await acting.stop();
  });

  test('a runtime that fails: told once for each container, tried once a minute within the budget, and nothing is forgotten', async () => {
    const acting = setUp();
    acting.node.cpuUsage = 2_000;
    acting.node.during = (call, at) => {
      if (call === 'update' && at === 'before') throw new Error('the runtime is away');
    };
    await acting.rounds(20);
    expect(recordsOf(acting)).toEqual(['throttle jobs/a/main failed', 'disable-scheduling node done']);
    expect(acting.counts.get('throttle failed')).toBe(4);
    acting.node.during = () => undefined;
    await acting.rounds(6);
    expect(acting.node.changed).toEqual(['a']);
    expect(findForgotten(acting.node, acting.stateDir)).toEqual([]);
    await acting.stop();
  });

  test('a container that the runtime refuses keeps no other from being throttled', async () => {
    const acting = setUp();
    acting.node.add('b', { milliCpu: 3_000, quotaUs: 400_000 });
    acting.node.cpuUsage = 2_000;
    acting.node.during = (call, at, subject) => {
      if (call === 'update' && at === 'before' && subject === 'a') throw new Error('the runtime refuses it');
    };
    await acting.rounds(2);
    expect(acting.node.changed).toEqual(['b']);
    await acting.stop();
  });

  test.each([
    ['the runtime refuses it: it costs no budget, also after a restart', 'before', 98],
    ['the answer is lost after the kernel had it: it stays counted', 'after', 97],
  ] as const)('a throttle that fails: %s', async (_, when, left) => {
    const acting = setUp({ perHour: 100 });
    acting.node.add('b', { milliCpu: 3_000, quotaUs: 400_000 });
    acting.node.cpuUsage = 10_000;
    acting.node.during = (call, at, subject) => {
      if (call === 'update' && at === when && subject === 'a') throw new Error('the runtime fails');
    };
    await acting.rounds();
    // The taint and the throttle of b count.
    expect([acting.avoidance.status.actionsLeft, onDisk(acting.stateDir)?.actions.length]).toEqual([left, 100 - left]);
    acting.kill();
    const next = setUp({ node: acting.node, stateDir: acting.stateDir, perHour: 100, mode: 'preview' });
    await pass(0);
    expect(next.avoidance.status.actionsLeft).toBe(left);
    next.kill();
  });

  test('the kernel has another quota after the runtime took it: that is a failure', async () => {
    const acting = setUp();
    acting.node.cpuUsage = 2_000;
    acting.node.during = (call, at, id) => {
      if (call === 'update' && at === 'after') acting.node.containers.get(id)!.quotaUs = 400_000;
    };
    await acting.rounds();
    expect(acting.avoidance.status.recent[0]).toMatchObject({
      outcome: 'failed',
      because: 'the kernel has 400000 µs after the runtime took 200000 µs',
    });
    acting.node.during = () => undefined;
    await acting.stop();
  });

  test.each(['before', 'after'] as const)(
    'a container that ends %s its quota is written is forgotten without a word',
    async (when) => {
      const acting = setUp();
      acting.node.cpuUsage = 2_000;
      acting.node.during = (call, at, id) => {
        if (call === 'update' && at === when) acting.node.remove(id);
      };
      await acting.rounds(2);
      expect(acting.avoidance.status.throttled).toEqual([]);
      expect(acting.lines.filter(({ level }) => level > 30)).toEqual([]);
      await acting.stop();
    },
  );

  test('a quota that someone else has changed is theirs, in a round, in between, and when all is undone', async () => {
    const acting = setUp();
    acting.node.cpuUsage = 2_000;
    await acting.rounds();
    Object.assign(acting.node.containers.get('a')!, { quotaUs: 300_000, originalUs: 300_000 });
    acting.set({ qosActions: 'off' });
    await pass(0);
    expect(acting.node.quotas).toEqual({ a: 300_000 });
    acting.set({ qosActions: 'enforce' });
    const before = measure(acting.node);
    Object.assign(acting.node.containers.get('a')!, { quotaUs: 350_000, originalUs: 350_000 });
    await acting.collect(before);
    expect(acting.node.quotas).toEqual({ a: 350_000 });
    await acting.rounds();
    expect(acting.node.quotas).toEqual({ a: 175_000 });
    await acting.stop();
    expect(acting.node.quotas).toEqual({ a: 350_000 });
  });

  test('a quota that a resize has changed is left alone until the rule is calm', async () => {
    const acting = setUp();
    acting.node.cpuUsage = 50_000;
    await acting.rounds(2);
    expect(acting.node.quotas).toEqual({ a: 100_000 });
    Object.assign(acting.node.containers.get('a')!, { quotaUs: 300_000, originalUs: 300_000 });
    await acting.rounds(5);
    expect([acting.node.quotas, acting.avoidance.status.throttled]).toEqual([{ a: 300_000 }, []]);
    acting.node.cpuUsage = 500;
    await acting.rounds(2);
    acting.node.cpuUsage = 50_000;
    await acting.rounds();
    expect(acting.node.quotas).toEqual({ a: 150_000 });
    await acting.stop();
    expect(acting.node.quotas).toEqual({ a: 300_000 });
  });

  test('a resize to the original of before is one too', async () => {
    const acting = setUp();
    acting.node.cpuUsage = 50_000;
    await acting.rounds(2);
    acting.node.containers.get('a')!.quotaUs = 400_000;
    await acting.rounds(3);
    expect([acting.node.quotas, acting.avoidance.status.throttled]).toEqual([{ a: 400_000 }, []]);
    await acting.stop();
  });

  test.each([
    ['whose pod the API server does not have any more', (node: FakeNode) => (node.pods = [])],
    ['that gets CPUs of its own', (node: FakeNode) => (node.containers.get('a')!.placement = 'exclusive')],
  ])('a throttled container %s gets its quota back', async (_, change) => {
    const acting = setUp();
    acting.node.cpuUsage = 2_000;
    await acting.rounds();
    expect(acting.node.changed).toEqual(['a']);
    change(acting.node);
    acting.node.during = (call) => {
      if (call === 'update') throw new Error('the runtime is away');
    };
    await acting.rounds();
    expect(findForgotten(acting.node, acting.stateDir)).toEqual([]);
    acting.node.during = () => undefined;
    await acting.rounds();
    expect([acting.node.changed, acting.avoidance.status.throttled]).toEqual([[], []]);
    await acting.stop();
  });

  test('a taint whose write fails is not shown, tried again, and told once', async () => {
    const acting = setUp();
    acting.node.cpuUsage = 2_000;
    acting.node.during = (call) => {
      if (call === 'mark') throw new Error('forbidden');
    };
    await acting.rounds(10);
    expect(acting.avoidance.status.schedulingDisabled).toBeUndefined();
    expect(recordsOf(acting).filter((record) => record.startsWith('disable'))).toEqual([
      'disable-scheduling node failed',
    ]);
    expect(acting.counts.get('disable-scheduling failed')).toBe(10);
    expect(acting.avoidance.status.actionsLeft).toBeGreaterThan(980);
    acting.node.during = () => undefined;
    await acting.rounds();
    expect([acting.node.isTainted, acting.avoidance.status.schedulingDisabled]).toMatchObject([true, {}]);
    await acting.stop();
  });

  test('a taint that someone else removes while a rule is triggered is set again, once a minute at most', async () => {
    const acting = setUp({ mode: 'enforce' });
    acting.node.cpuUsage = 2_000;
    await acting.rounds(2);
    const { schedulingDisabled } = acting.avoidance.status;
    const countMarks = (): number => acting.counts.get('disable-scheduling done') ?? 0;
    expect([acting.node.isTainted, countMarks()]).toEqual([true, 1]);
    acting.node.isTainted = false;
    await acting.rounds(3);
    expect([acting.node.isTainted, countMarks()]).toEqual([false, 1]);
    await acting.rounds(3);
    expect([acting.node.isTainted, countMarks()]).toEqual([true, 2]);
    expect(acting.avoidance.status.schedulingDisabled).toEqual(schedulingDisabled);
    await acting.stop();
    expect(acting.node.isTainted).toBe(false);
  });

  test('when rules can not be followed any more, everything is undone after three intervals', async () => {
    const acting = setUp();
    acting.node.cpuUsage = 2_000;
    await acting.rounds();
    acting.node.podQoss = undefined as never;
    await acting.rounds(4);
    expect([acting.node.changed, acting.node.isTainted]).toEqual([[], false]);
    expect(acting.alarms.list()).toMatchObject([{ kind: 'internal-fault' }]);
    await acting.stop();
  });

  test('what is told is bounded, the newest first', async () => {
    const acting = setUp({ perHour: 100_000 });
    for (let i = 0; i < 40; i++) acting.node.add(`b${i}`, { milliCpu: 2_000, quotaUs: 400_000 });
    acting.node.cpuUsage = 1_000_000;
    await acting.rounds(3);
    expect(acting.avoidance.status.recent).toHaveLength(50);
    const times = acting.avoidance.status.recent.map(({ at }) => at);
    expect(times).toEqual([...times].sort().reverse());
    await acting.stop();
  });
});

describe('the end', () => {
  test('undoes everything, and leaves a file only for the budget of the hour', async () => {
    const acting = setUp();
    acting.node.cpuUsage = 2_000;
    await acting.rounds();
    await acting.stop();
    expect([acting.node.changed, acting.node.isTainted]).toEqual([[], false]);
    const actions = ['', 'jobs'].map((namespace) => ({ atMs: START, namespace }));
    expect(onDisk(acting.stateDir)).toMatchObject({ tainted: false, throttles: [], actions });
    jest.setSystemTime(START + 3_600_000);
    const next = setUp({ node: acting.node, stateDir: acting.stateDir, mode: 'off' });
    await pass(2_000);
    expect(existsSync(join(acting.stateDir, NOTE_FILE))).toBe(false);
    await next.stop();
  });

  test('1,000 containers at 10 ms each are undone within its 8 s, at most 8 at once', async () => {
    const node = new FakeNode();
    for (let i = 0; i < 1_000; i++) node.add(`c${i}`, { milliCpu: 2_000, quotaUs: 400_000 });
    const acting = setUp({ node, perHour: 10_000 });
    node.cpuUsage = 10_000_000;
    await acting.rounds();
    expect(node.changed).toHaveLength(1_000);
    const atOnce = { now: 0, most: 0 };
    node.during = async (call, at) => {
      if (call !== 'update' || at !== 'before') return;
      atOnce.most = Math.max(atOnce.most, ++atOnce.now);
      await new Promise((resolve) => setTimeout(resolve, 10));
      atOnce.now--;
    };
    const startedMs = Date.now();
    acting.end.abort();
    const ended = acting.running.then(() => Date.now() - startedMs);
    await pass(8_000);
    expect(await ended).toBeLessThan(2_000);
    expect([node.changed, atOnce.most]).toEqual([[], 8]);
  });

  test.each(['update', 'mark'] as const)(
    'takes 8 s at most when each %s hangs; the rest is undone, and the next start goes on',
    async (hangs) => {
      const acting = setUp();
      acting.node.cpuUsage = 2_000;
      await acting.rounds();
      acting.node.during = (call) => (call === hangs ? new Promise(() => undefined) : undefined);
      const startedMs = Date.now();
      acting.end.abort();
      const ended = acting.running.then(() => Date.now() - startedMs);
      await pass(8_000);
      expect(await ended).toBeLessThan(8_001);
      expect([acting.node.changed, acting.node.isTainted]).toEqual(hangs === 'update' ? [['a'], false] : [[], true]);
      expect(acting.lines.at(-1)!.msg).toBe('QoS actions are still in force: the next start undoes them');
      acting.node.during = () => undefined;
      const next = setUp({ node: acting.node, stateDir: acting.stateDir, mode: 'off' });
      await pass(0);
      expect([acting.node.changed, acting.node.isTainted]).toEqual([[], false]);
      await next.stop();
    },
  );

  test('takes 8 s at most when a look hangs, and a collection that comes late does nothing', async () => {
    const acting = setUp();
    acting.node.cpuUsage = 2_000;
    await acting.rounds();
    acting.node.during = (call) => (call === 'update' ? new Promise(() => undefined) : undefined);
    await pass(4 * INTERVAL_MS);
    acting.end.abort();
    const late = acting.collect();
    await pass(8_000);
    await acting.running;
    expect(acting.node.updates).toHaveLength(2);
    expect(jest.getTimerCount()).toBe(0);
    acting.kill();
    void late;
  });
});

describe('the start after a kill', () => {
  async function killed(given: Partial<ActingOptions> = {}) {
    const acting = setUp(given);
    acting.node.cpuUsage = 2_000;
    await acting.rounds();
    acting.kill();
    expect([acting.node.changed, acting.node.isTainted]).toEqual([['a'], true]);
    return acting;
  }

  test('undoes everything before anything else', async () => {
    const { node, stateDir } = await killed();
    const order: string[] = [];
    node.during = (call, at, subject) => void order.push(`${at} ${call} ${subject}`);
    const next = setUp({ node, stateDir });
    await next.rounds(2);
    expect([node.changed, node.isTainted]).toEqual([['a'], true]);
    expect(order.slice(0, 4).sort()).toEqual([
      'after mark node',
      'after update a',
      'before mark node',
      'before update a',
    ]);
    await next.stop();
  });

  test('one container whose quota can not be put back does not keep rules from the others', async () => {
    const { node, stateDir } = await killed();
    node.add('b', { milliCpu: 4_000, quotaUs: 400_000 });
    node.during = (call, at, subject) => {
      if (call === 'update' && at === 'before' && subject === 'a') throw new Error('the runtime refuses it');
    };
    const next = setUp({ node, stateDir });
    await next.rounds(2);
    expect([node.changed, node.isTainted]).toEqual([['a', 'b'], true]);
    node.cpuUsage = 500;
    await next.rounds(20);
    expect([node.changed, node.isTainted]).toEqual([['a'], false]);
    expect(findForgotten(node, stateDir)).toEqual([]);
    node.during = () => undefined;
    await next.rounds(2);
    expect(node.changed).toEqual([]);
    await next.stop();
  });

  test('waits until the runtime has told of its containers, and undoes their quotas within a second then', async () => {
    const { node, stateDir } = await killed();
    node.isSynchronized = false;
    const next = setUp({ node, stateDir });
    await next.rounds(30);
    expect([node.changed, node.isTainted]).toEqual([['a'], false]);
    expect(findForgotten(node, stateDir)).toEqual([]);
    node.isSynchronized = true;
    await pass(1_000);
    expect(node.changed).toEqual([]);
    await next.stop();
  });

  test('without the API server it shows the taint, undoes the quotas, and takes no new action until it is undone', async () => {
    const { node, stateDir } = await killed();
    node.isApiAway = true;
    const next = setUp({ node, stateDir });
    await next.rounds(3);
    expect([node.changed, node.isTainted]).toEqual([[], true]);
    expect(next.avoidance.status.schedulingDisabled).toMatchObject({
      because: 'an earlier process of cpusetd has set the taint',
    });
    node.isApiAway = false;
    await pass(75_000);
    expect([node.isTainted, next.avoidance.status.schedulingDisabled]).toEqual([false, undefined]);
    await next.stop();
  });
});
