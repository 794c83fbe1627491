import fc from 'fast-check';
import { GRACE_MS } from '../../../src/scheduling/load/figure';
import { findOverload } from '../../../src/scheduling/load/filter-by-load';
import { holdsAt, judgeLoad, NO_VERDICT } from '../../../src/scheduling/load/load-verdict';
import { NO_LOAD, type NodeLoad } from '../../../src/scheduling/load/node-load';
import { scoreByLoad } from '../../../src/scheduling/load/score-by-load';
import type { SchedulerPolicy } from '../../../src/scheduling/policy/policy';

const MINUTE_MS = 60_000;
const nowMs = Date.parse('2023-03-01T02:00:00Z');
const METRICS = ['cpu', 'mem', 'net'];
const policy: SchedulerPolicy = {
  syncPolicy: METRICS.map((name, i) => ({ name, periodMs: (i + 1) * 3 * MINUTE_MS })),
  predicate: METRICS.map((name) => ({ name, maxLimit: 0.65 })),
  priority: METRICS.map((name, i) => ({ name, weight: i + 1 })),
  hotValue: [],
};

/** @param agesMs of the figures, in the order of METRICS */
function loadOf(
  values: readonly number[],
  agesMs: readonly number[],
  hot?: { value: number; ageMs: number },
): NodeLoad {
  const figures = values.map((value, i) => [METRICS[i]!, { value, stampMs: nowMs - (agesMs[i] ?? 0) }] as const);
  return {
    figures: new Map(figures),
    hotValue: hot && { value: hot.value, stampMs: nowMs - hot.ageMs },
  };
}

test.each<[string, NodeLoad, number]>([
  ['figures of one time: that with the shortest period', loadOf([0, 0, 0], [0, 0, 0]), 3 * MINUTE_MS + GRACE_MS],
  ['an old figure of a long period', loadOf([0, 0, 0], [0, 6 * MINUTE_MS, 0]), 5 * MINUTE_MS],
  ['a figure that is too old already: the next', loadOf([0, 0], [60 * MINUTE_MS, MINUTE_MS]), 10 * MINUTE_MS],
  ['a hot value', loadOf([0], [0], { value: 1, ageMs: MINUTE_MS }), 4 * MINUTE_MS],
  ['a metric that the policy does not have', { ...NO_LOAD, figures: new Map([['disk', { value: 1, stampMs: nowMs }]]) }, Infinity],
  ['no figures: for ever', NO_LOAD, Infinity],
])('given %s: the verdict holds until then', (_name, load, forMs) => {
  const verdict = judgeLoad(policy, load, nowMs);
  expect(verdict.untilMs - nowMs).toBe(forMs);
  expect(holdsAt(verdict, policy, verdict.untilMs)).toBe(false);
}); // prettier-ignore

test('given a clock that is set back: a verdict of a later time does not hold, since figures may be valid again', () => {
  const verdict = judgeLoad(policy, loadOf([0.9], [8 * MINUTE_MS]), nowMs);
  expect(verdict.overload).toBeUndefined();
  expect(holdsAt(verdict, policy, nowMs - 1)).toBe(false);
  expect(judgeLoad(policy, loadOf([0.9], [8 * MINUTE_MS]), nowMs - 1).overload?.metric).toBe('cpu');
});

test('given another policy: the verdict does not hold', () => {
  const verdict = judgeLoad(policy, NO_LOAD, nowMs);
  expect([policy, { ...policy }].map((by) => holdsAt(verdict, by, nowMs))).toEqual([true, false]);
});

test('given a node without figures: the verdict is the constant one', () => {
  expect(judgeLoad(policy, NO_LOAD, nowMs)).toEqual({ ...NO_VERDICT, by: policy, fromMs: nowMs });
});

test('given any load and two times: while a verdict holds, it is what filter and score say', () => {
  const agesMs = fc.array(fc.integer({ min: -MINUTE_MS, max: 20 * MINUTE_MS }), { minLength: 3, maxLength: 3 });
  const values = fc.array(fc.double({ min: 0, max: 1.5, noNaN: true }), { maxLength: 3 });
  const hot = fc.option(fc.record({ value: fc.nat(9), ageMs: fc.integer({ min: 0, max: 6 * MINUTE_MS }) }));
  const laterMs = fc.integer({ min: -MINUTE_MS, max: 20 * MINUTE_MS });
  let held = 0;
  fc.assert(
    fc.property(values, agesMs, hot, laterMs, (figures, ages, heat, later) => {
      const load = loadOf(figures, ages, heat ?? undefined);
      const verdict = judgeLoad(policy, load, nowMs);
      expect(holdsAt(verdict, policy, nowMs)).toBe(true);
      if (!holdsAt(verdict, policy, nowMs + later)) return;
      held++;
      expect(verdict.overload).toEqual(findOverload(policy, load, nowMs + later));
      expect(verdict.score).toBe(scoreByLoad(policy, load, nowMs + later));
    }),
  );
  expect(held).toBeGreaterThan(0);
});
