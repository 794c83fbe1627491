import fc from 'fast-check';
import type { SchedulerPolicy } from '../../../src/scheduling/policy/policy';
import { formatFigure, formatHotValue, HOT_VALUE } from '../../../src/scheduling/load/figure';
import { describeOverload, findOverload, isOfDaemonSet } from '../../../src/scheduling/load/filter-by-load';
import { type NodeLoad, NO_LOAD, readNodeLoad } from '../../../src/scheduling/load/node-load';
import { scoreByLoad } from '../../../src/scheduling/load/score-by-load';
import { TimeZone } from '../../../src/scheduling/load/time-zone';

const zone = TimeZone.of('Asia/Shanghai');
const nowMs = Date.parse('2023-03-01T02:00:00Z');
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const METRICS = ['cpu', 'mem'].flatMap((resource) => [
  `${resource}_usage_avg_5m`,
  `${resource}_usage_max_avg_1h`,
  `${resource}_usage_max_avg_1d`,
]);
const periods = [3 * MINUTE_MS, 15 * MINUTE_MS, 3 * HOUR_MS];

/** Crane's default policy. */
const policy: SchedulerPolicy = {
  syncPolicy: METRICS.map((name, i) => ({ name, periodMs: periods[i % 3]! })),
  predicate: [
    { name: 'cpu_usage_avg_5m', maxLimit: 0.65 },
    { name: 'cpu_usage_max_avg_1h', maxLimit: 0.75 },
    { name: 'mem_usage_avg_5m', maxLimit: 0.65 },
    { name: 'mem_usage_max_avg_1h', maxLimit: 0.75 },
  ],
  priority: METRICS.map((name, i) => ({ name, weight: [0.2, 0.3, 0.5][i % 3]! })),
  hotValue: [
    { timeRangeMs: 5 * MINUTE_MS, count: 5 },
    { timeRangeMs: MINUTE_MS, count: 2 },
  ],
};

/** The load of a node whose figures, in the order of METRICS, are of this age. */
function loadOf(values: readonly (number | undefined)[], hot = 0, agesMs: readonly number[] = []): NodeLoad {
  const entries = values.flatMap((value, i) => {
    const figure = { value: value ?? 0, stampMs: nowMs - (agesMs[i] ?? 0) };
    return value === undefined ? [] : [[METRICS[i]!, formatFigure(figure, zone)] as const];
  });
  const annotations = Object.fromEntries([
    ...entries,
    [HOT_VALUE, formatHotValue({ value: hot, stampMs: nowMs }, zone)],
  ]);
  return readNodeLoad(annotations, policy, zone);
}

const usual = [0.3125, 0.5, 0.4, 0.6, 0.62, 0.7];
const expired = [0, 0, 4 * HOUR_MS];

test.each`
  name                                      | values                         | hot  | agesMs     | score
  ${'all figures'}                          | ${usual}                       | ${0} | ${[]}      | ${46}
  ${'a hot value of 3'}                     | ${usual}                       | ${3} | ${[]}      | ${16}
  ${'a hot value of 5'}                     | ${usual}                       | ${5} | ${[]}      | ${0}
  ${'an expired figure, its weight counts'} | ${usual}                       | ${0} | ${expired} | ${31}
  ${'no figures'}                           | ${[]}                          | ${0} | ${[]}      | ${0}
  ${'no load'}                              | ${[0, 0, 0, 0, 0, 0]}          | ${0} | ${[]}      | ${100}
  ${'a load above 1'}                       | ${METRICS.map(() => 1.2)}      | ${0} | ${[]}      | ${0}
  ${'an infinite load'}                     | ${METRICS.map(() => Infinity)} | ${0} | ${[]}      | ${0}
`('given $name: the score is $score', ({ values, hot, agesMs, score }: ScoreRow) => {
  const load = values.includes(Infinity)
    ? { ...NO_LOAD, figures: new Map(METRICS.map((metric) => [metric, { value: Infinity, stampMs: nowMs }])) }
    : loadOf(values, hot, agesMs);
  expect(scoreByLoad(policy, load, nowMs)).toBe(score);
});
interface ScoreRow {
  values: number[];
  hot: number;
  agesMs: number[];
  score: number;
}

test.each`
  name                                | values                          | ageMs                    | metric
  ${'a figure at its limit'}          | ${[0.65]}                       | ${0}                     | ${undefined}
  ${'a figure above its limit'}       | ${[0.65001]}                    | ${0}                     | ${'cpu_usage_avg_5m'}
  ${'a figure without a limit'}       | ${[undefined, undefined, 0.99]} | ${0}                     | ${undefined}
  ${'a figure of eight minutes'}      | ${[0.9]}                        | ${8 * MINUTE_MS}         | ${undefined}
  ${'a figure of a second less'}      | ${[0.9]}                        | ${8 * MINUTE_MS - 1_000} | ${'cpu_usage_avg_5m'}
  ${'two figures above their limits'} | ${[0.1, 0.9, 0.1, 0.9]}         | ${0}                     | ${'cpu_usage_max_avg_1h'}
  ${'no figures'}                     | ${[]}                           | ${0}                     | ${undefined}
`('given $name: the filter finds $metric', ({ values, ageMs, metric }: FilterRow) => {
  expect(
    findOverload(
      policy,
      loadOf(
        values,
        0,
        values.map(() => ageMs),
      ),
      nowMs,
    )?.metric,
  ).toBe(metric);
});
interface FilterRow {
  values: number[];
  ageMs: number;
  metric: string | undefined;
}

test('given an overload: the message of crane-scheduler', () => {
  const overload = findOverload(policy, loadOf([0.9]), nowMs)!;
  expect(overload).toEqual({ metric: 'cpu_usage_avg_5m', value: 0.9, limit: 0.65 });
  expect(describeOverload(overload, 'node-a')).toBe('Load[cpu_usage_avg_5m] of node[node-a] is too high');
});

test('given a limit of 0, and a metric without a period: no node is left out', () => {
  const hot = loadOf(METRICS.map(() => 0.99));
  expect(
    findOverload({ ...policy, predicate: [{ name: 'cpu_usage_avg_5m', maxLimit: 0 }] }, hot, nowMs),
  ).toBeUndefined();
  expect(findOverload({ ...policy, syncPolicy: [] }, hot, nowMs)).toBeUndefined();
});

test('given a hot value of five minutes: it counts no more', () => {
  const values = METRICS.map(() => 0);
  const loadAt = (ageMs: number): NodeLoad => ({ ...loadOf(values), hotValue: { value: 2, stampMs: nowMs - ageMs } });
  expect(scoreByLoad(policy, loadAt(5 * MINUTE_MS - 1), nowMs)).toBe(80);
  expect(scoreByLoad(policy, loadAt(5 * MINUTE_MS), nowMs)).toBe(100);
});

test('given a hot value that is no integer: its tenth part is rounded down, as upstream does', () => {
  const load = { ...loadOf(METRICS.map(() => 0)), hotValue: { value: 1.25, stampMs: nowMs } };
  expect(scoreByLoad(policy, load, nowMs)).toBe(88);
});

test.each`
  kinds                          | exempt
  ${['ReplicaSet']}              | ${false}
  ${['ReplicaSet', 'DaemonSet']} | ${true}
  ${[]}                          | ${false}
`('given owners of the kinds $kinds: exempt is $exempt', ({ kinds, exempt }: { kinds: string[]; exempt: boolean }) => {
  expect(isOfDaemonSet(kinds.map((kind) => ({ kind })))).toBe(exempt);
});

test('given annotations whose names are those of objects in JavaScript: they are no figures', () => {
  const constructor: SchedulerPolicy = { ...policy, syncPolicy: [{ name: 'constructor', periodMs: 1 }] };
  expect(readNodeLoad({}, constructor, zone).figures.size).toBe(0);
});

const ratios = fc.array(fc.double({ min: 0, max: 3, noNaN: true }), { minLength: 6, maxLength: 6 });
const exact = (values: readonly number[], hot = 0): NodeLoad => ({
  figures: new Map(values.map((value, i) => [METRICS[i]!, { value, stampMs: nowMs }])),
  hotValue: { value: hot, stampMs: nowMs },
});

test('given any load: the score is an integer from 0 to 100', () => {
  fc.assert(
    fc.property(ratios, fc.integer({ min: 0, max: 1_000 }), (values, hot) => {
      const score = scoreByLoad(policy, exact(values, hot), nowMs);
      expect(Number.isInteger(score) && score >= 0 && score <= 100).toBe(true);
    }),
  );
});

test('given a figure that grows, or a hot value: the score does not', () => {
  fc.assert(
    fc.property(ratios, fc.nat(5), fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(9), (values, i, more, hot) => {
      const before = scoreByLoad(policy, exact(values), nowMs);
      const grown = values.map((value, at) => (at === i ? value + more : value));
      expect(scoreByLoad(policy, exact(grown), nowMs)).toBeLessThanOrEqual(before);
      expect(scoreByLoad(policy, exact(values, hot), nowMs)).toBeLessThanOrEqual(before);
    }),
  );
});

test('given weights that are all doubled any number of times: the score stays', () => {
  fc.assert(
    fc.property(ratios, fc.integer({ min: -20, max: 20 }), (values, power) => {
      const priority = policy.priority.map(({ name, weight }) => ({ name, weight: weight * 2 ** power }));
      expect(scoreByLoad({ ...policy, priority }, exact(values), nowMs)).toBe(
        scoreByLoad(policy, exact(values), nowMs),
      );
    }),
  );
});
