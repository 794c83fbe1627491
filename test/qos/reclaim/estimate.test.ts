import fc from 'fast-check';
import { addSample, estimateNeed, MAX_SAMPLES, nearestRank, type UseSample } from '../../../src/qos/reclaim/estimate';

const HOUR_MS = 3_600_000;
const OPTIONS = { windowMs: HOUR_MS, percentile: 95, marginPercent: 10, maxAgeMs: 20_000 };
/** The samples of a node that was measured every `everyMs`, the last time at `lastMs`. */
const measured = (values: readonly number[], { everyMs = 10_000, lastMs = 0, windowMs = HOUR_MS } = {}) =>
  values.reduce<readonly UseSample[]>((samples, value, index) => {
    const atMs = lastMs - (values.length - 1 - index) * everyMs;
    return addSample(samples, { atMs, value }, windowMs);
  }, []);
const valueOf = (samples: readonly UseSample[], options = OPTIONS, nowMs = 0): number => {
  const estimate = estimateNeed(samples, options, nowMs);
  if (!estimate.known) throw new Error(estimate.because);
  return estimate.value;
};
/** By the definition: the smallest of the values that at least so many per cent of them do not exceed. */
const naivePercentile = (values: readonly number[], percentile: number): number =>
  Math.min(
    ...values.filter((value) => values.filter((other) => other <= value).length * 100 >= percentile * values.length),
  );

test.each`
  values                             | percentile | want
  ${[7]}                             | ${95}      | ${7}
  ${[15, 20, 35, 40, 50]}            | ${30}      | ${20}
  ${[15, 20, 35, 40, 50]}            | ${40}      | ${20}
  ${[15, 20, 35, 40, 50]}            | ${50}      | ${35}
  ${[50, 15, 40, 20, 35]}            | ${100}     | ${50}
  ${[15, 20, 35, 40, 50]}            | ${0.001}   | ${15}
  ${[10, 9, 8, 7, 6, 5, 4, 3, 2, 1]} | ${95}      | ${10}
`('the percentile $percentile of $values is $want', ({ values, percentile, want }) => {
  expect(nearestRank(values, percentile)).toBe(want);
});

test.each`
  name                                                     | values                                                                | want
  ${'the percentile has its margin on top'}                | ${[...Array<number>(100)].fill(1000)}                                 | ${1100}
  ${'a short peak of less than 5 per cent does not count'} | ${[...Array<number>(96).fill(1000), 9000, 9000, 1000, 1000]}          | ${1100}
  ${'a rise counts at once, without the margin'}           | ${[...Array<number>(99).fill(1000), 9000]}                            | ${9000}
  ${'a rise within the margin changes nothing'}            | ${[...Array<number>(99).fill(1000), 1050]}                            | ${1100}
  ${'use that ended still counts'}                         | ${[...Array<number>(50).fill(4000), ...Array<number>(50).fill(1000)]} | ${4400}
`('$name', ({ values, want }) => {
  expect(valueOf(measured(values))).toBeCloseTo(want, 9);
});

test('use from before the window is forgotten, also while nothing was measured', () => {
  const samples = measured([9000, 1000, 1000], { everyMs: HOUR_MS / 2 });
  expect(samples.map(({ value }) => value)).toEqual([1000, 1000]);
  const later = estimateNeed(measured([9000, 1000]), { ...OPTIONS, windowMs: 12_000 }, 5_000);
  expect(later).toMatchObject({ known: true, percentileValue: 1000, samples: 1 });
});

test.each`
  name                                    | samples                    | nowMs      | because
  ${'without a sample'}                   | ${[]}                      | ${0}       | ${'nothing was measured yet'}
  ${'with an old sample'}                 | ${[{ atMs: 0, value: 1 }]} | ${20_001}  | ${'the newest measurement is 20 s old, more than 20 s'}
  ${'with one of a clock that was ahead'} | ${[{ atMs: 0, value: 1 }]} | ${-60_000} | ${'the newest measurement is 60 s old, more than 20 s'}
`('nothing is known $name', ({ samples, nowMs, because }) => {
  expect(estimateNeed(samples, OPTIONS, nowMs)).toEqual({ known: false, because });
});

test('a sample as old as it may be is known', () => {
  expect(valueOf([{ atMs: 0, value: 1 }], OPTIONS, 20_000)).toBeCloseTo(1.1, 9);
});

test.each([NaN, Infinity, -1])('%d is no use and left out', (value) => {
  expect(addSample([{ atMs: 0, value: 5 }], { atMs: 1, value }, HOUR_MS)).toEqual([{ atMs: 0, value: 5 }]);
});

test('over random series it is the percentile of all values of the window', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 64_000 }), { minLength: 1, maxLength: 400 }),
      fc.integer({ min: 1, max: 100 }),
      (values, percentile) => {
        const options = { ...OPTIONS, percentile, marginPercent: 0 };
        const inWindow = values.slice(-360);
        const want = Math.max(naivePercentile(inWindow, percentile), values.at(-1)!);
        expect(valueOf(measured(values), options)).toBe(want);
      },
    ),
  );
});

test('a day of samples is bounded, keeps its peak, and is never estimated lower than without thinning', () => {
  const windowMs = 24 * HOUR_MS;
  const everyMs = windowMs / (MAX_SAMPLES - 1) / 4;
  const values = Array.from({ length: 4 * (MAX_SAMPLES - 1) }, (_, index) => (index * 7_919) % 6_007);
  const samples = measured(values, { windowMs, everyMs });
  expect(samples.length).toBeLessThanOrEqual(MAX_SAMPLES);
  expect(samples.length).toBeGreaterThan(MAX_SAMPLES - 10);
  for (const percentile of [50, 95, 99, 100]) {
    const options = { ...OPTIONS, windowMs, percentile, marginPercent: 0 };
    expect(valueOf(samples, options)).toBeGreaterThanOrEqual(nearestRank(values, percentile));
  }
  expect(Math.max(...samples.map(({ value }) => value))).toBe(Math.max(...values));
});

test('after the clock was set back, peaks still count, and the window does not grow', () => {
  const before = measured([9000, 1000, 1000]);
  const after = addSample(before, { atMs: -HOUR_MS / 2, value: 1000 }, HOUR_MS);
  expect(after).toEqual([{ atMs: -HOUR_MS / 2, value: 9000 }]);
});
