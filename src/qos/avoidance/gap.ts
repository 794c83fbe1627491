import type { AvoidanceOrder, AvoidanceSituation } from './situation';

export type Resource = 'cpu' | 'memory';

/** A metric whose gap is an amount of a resource, so that pods are acted on until it is closed. */
interface KnownMetric {
  readonly resource: Resource;
  /** A smaller quota lowers it. The others are only lowered by evictions. */
  readonly isThrottled: boolean;
  /** Amount for one unit of the metric: milli-CPU or bytes. Undefined = unknown. */
  readonly unit: (situation: AvoidanceSituation) => number | undefined;
}

const KNOWN: ReadonlyMap<string, KnownMetric> = new Map([
  ['cpu_total_usage', { resource: 'cpu', isThrottled: true, unit: () => 1 }],
  ['cpu_total_utilization', { resource: 'cpu', isThrottled: false, unit: ({ cores }) => cores * 10 }],
  ['memory_total_usage', { resource: 'memory', isThrottled: false, unit: () => 1 }],
  [
    'memory_total_utilization',
    {
      resource: 'memory',
      isThrottled: false,
      unit: ({ totalMemoryBytes }) => totalMemoryBytes && totalMemoryBytes / 100,
    },
  ],
] satisfies [string, KnownMetric][]);

export function resourceOf(metric: string): Resource | undefined {
  return KNOWN.get(metric)?.resource;
}

/** Returns true for metrics that a throttle is taken for: `cpu_total_usage`, and those whose gap is not known. */
export function isThrottleMetric(metric: string): boolean {
  return KNOWN.get(metric)?.isThrottled ?? true;
}

/** The greatest series of a metric; undefined = unknown. */
export function usedNow(metric: string, { metrics }: Pick<AvoidanceSituation, 'metrics'>): number | undefined {
  const values = (metrics.get(metric) ?? []).map(({ value }) => value).filter(Number.isFinite);
  return values.length > 0 ? Math.max(...values) : undefined;
}

export function smallestWatermark(metric: string, orders: readonly AvoidanceOrder[]): number {
  return Math.min(...orders.filter((order) => order.metric === metric).map(({ threshold }) => threshold));
}

/**
 * The amount that is to be released, in milli-CPU or bytes, so that the metric falls to its smallest watermark.
 * Infinity where it can't be known: the metric is no amount of a resource, or its value is unknown. All selected pods
 * are acted on then.
 */
export function gapAbove(metric: string, orders: readonly AvoidanceOrder[], situation: AvoidanceSituation): number {
  const used = usedNow(metric, situation);
  const unit = KNOWN.get(metric)?.unit(situation);
  if (used === undefined || unit === undefined) return Infinity;
  return (1 + situation.options.excess) * (used - smallestWatermark(metric, orders)) * unit;
}

/**
 * The amount that can be given back before the metric reaches its smallest watermark; Infinity as above. No excess is
 * added.
 */
export function gapBelow(metric: string, orders: readonly AvoidanceOrder[], situation: AvoidanceSituation): number {
  const used = usedNow(metric, situation);
  const unit = KNOWN.get(metric)?.unit(situation);
  if (used === undefined || unit === undefined) return Infinity;
  return (smallestWatermark(metric, orders) - used) * unit;
}

/** Metrics of the orders: those without a gap first, then by name. */
export function metricsOf(orders: readonly AvoidanceOrder[]): readonly string[] {
  const names = [...new Set(orders.map(({ metric }) => metric))].sort();
  return [...names.filter((name) => !KNOWN.has(name)), ...names.filter((name) => KNOWN.has(name))];
}
