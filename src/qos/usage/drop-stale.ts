import type { Metrics } from './metrics';

/**
 * The series that are at most `maxAgeMs` old; a metric of which none is left has no entry. A time that lies further
 * ahead is stale too: the clock was set back since, and nobody knows how old the series is.
 */
export function dropStale(metrics: Metrics, nowMs: number, maxAgeMs: number): Metrics {
  const kept = [...metrics].map(
    ([name, series]) => [name, series.filter(({ atMs }) => Math.abs(nowMs - atMs) <= maxAgeMs)] as const,
  );
  return new Map(kept.filter(([, series]) => series.length > 0));
}
