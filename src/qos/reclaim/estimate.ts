/** A measured use, in any unit. */
export interface UseSample {
  /** ms since 1970. */
  readonly atMs: number;
  readonly value: number;
}

export interface EstimateOptions {
  /** Samples older than this do not count. */
  readonly windowMs: number;
  /** Above 0, up to 100. */
  readonly percentile: number;
  /** Safety margin on top of the percentile, in per cent of it. */
  readonly marginPercent: number;
  /** Nothing is known when the newest sample is older than this. */
  readonly maxAgeMs: number;
}

export type Estimate =
  | {
      readonly known: true;
      /** The percentile with its margin, but never less than the newest sample. */
      readonly value: number;
      /** The percentile without the margin. */
      readonly percentileValue: number;
      readonly newest: number;
      readonly samples: number;
    }
  /** `because` is a clause for the operator. */
  | { readonly known: false; readonly because: string };

/** The most samples that a window keeps. */
export const MAX_SAMPLES = 2_000;

/**
 * The samples with one more, oldest first. A value that is no number from 0 is left out.
 *
 * The window is cut into slots of 1/1,999 of its length, and a slot keeps its largest value at its latest time: so the
 * number of samples is bounded, each part of the window weighs the same, and no peak is lost. With a sample every 10 s
 * nothing is thinned up to a window of five and a half hours. When the clock was set back, later samples count as
 * measured now.
 */
export function addSample(samples: readonly UseSample[], sample: UseSample, windowMs: number): readonly UseSample[] {
  if (!(Number.isFinite(sample.value) && sample.value >= 0)) return samples;
  const slotMs = windowMs / (MAX_SAMPLES - 1);
  const slotOf = (atMs: number): number => Math.floor(atMs / slotMs);
  const slot = slotOf(sample.atMs);
  let { length: end } = samples;
  let { value } = sample;
  for (; end > 0 && slotOf(samples[end - 1]!.atMs) >= slot; end -= 1) {
    const other = samples[end - 1]!;
    if (other.atMs > sample.atMs - windowMs) value = Math.max(value, other.value);
  }
  const first = samples.findIndex(({ atMs }) => atMs > sample.atMs - windowMs);
  const kept = first === -1 ? [] : samples.slice(first, end);
  return [...kept, { atMs: sample.atMs, value }];
}

/** Estimates the need from the samples of the window. */
export function estimateNeed(samples: readonly UseSample[], options: EstimateOptions, nowMs: number): Estimate {
  const { windowMs, percentile, marginPercent, maxAgeMs } = options;
  const newest = samples.at(-1);
  if (newest === undefined) return { known: false, because: 'nothing was measured yet' };
  const ageMs = Math.abs(nowMs - newest.atMs);
  if (ageMs > maxAgeMs)
    return {
      known: false,
      because: `the newest measurement is ${Math.round(ageMs / 1000)} s old, more than ${Math.round(maxAgeMs / 1000)} s`,
    };
  const values = samples.filter(({ atMs }) => atMs > nowMs - windowMs).map(({ value }) => value);
  const percentileValue = nearestRank(values.length > 0 ? values : [newest.value], percentile);
  const value = Math.max(percentileValue * (1 + marginPercent / 100), newest.value);
  return { known: true, value, percentileValue, newest: newest.value, samples: values.length };
}

/** The smallest value that at least this percentage of the values does not exceed. Of at least one value. */
export function nearestRank(values: readonly number[], percentile: number): number {
  const sorted = Float64Array.from(values).sort();
  const rank = Math.ceil((percentile / 100) * sorted.length);
  return sorted[Math.min(Math.max(rank, 1), sorted.length) - 1]!;
}
