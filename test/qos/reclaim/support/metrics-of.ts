import type { Metrics } from '../../../../src/qos/usage/metrics';

/** Metrics with one series each, without labels. */
export function metricsOf(values: Readonly<Record<string, number>>, atMs = 0): Metrics {
  return new Map(Object.entries(values).map(([name, value]) => [name, [{ labels: {}, value, atMs }]]));
}
