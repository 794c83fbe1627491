import type { RuleTest } from './promtool';

/** An answer of /metrics. */
export interface Scrape {
  readonly text: string;
  /** Time of the answer, in ms since 1970. */
  readonly atMs: number;
}

/** Scrapes of one target that all have the same answer. */
export interface Scrapes {
  readonly scrape: Scrape;
  /** Labels of the target. */
  readonly target: Readonly<Record<string, string>>;
  /** First and last minute. */
  readonly from: number;
  readonly to: number;
}

/**
 * Makes the input of promtool from answers of /metrics, with a sample a minute: of all series of these metrics. Times
 * of 1970 and later become times of promtool, whose clock begins at 0. The series of a target that is gone are marked
 * as stale, as Prometheus does.
 */
export function toInputSeries(
  lives: readonly Scrapes[],
  { metrics, minutes }: { readonly metrics: ReadonlySet<string>; readonly minutes: number },
): RuleTest['input_series'] {
  const samples = new Map<string, string[]>();
  for (const { scrape, target, from, to } of lives) {
    for (const [, metric, inBraces, value] of scrape.text.matchAll(/^([a-z]\w*)(?:\{(.*)\})? (\S+)$/gm)) {
      if (!metrics.has(metric!)) continue;
      const labels = [
        ...Object.entries(target).map(([name, value]) => `${name}="${value}"`),
        ...(inBraces ? [inBraces] : []),
      ];
      const series = `${metric}{${labels.join(',')}}`;
      const values = samples.get(series) ?? Array.from({ length: minutes + 1 }, () => '_');
      samples.set(series, values);
      const isTime = metric!.endsWith('_time_seconds') || metric!.endsWith('_timestamp_seconds');
      const shown = isTime ? String(Number(value) - scrape.atMs / 1_000 + from * 60) : value!;
      values.fill(shown, from, to + 1);
      if (to < minutes) values[to + 1] = 'stale';
    }
  }
  return [...samples].map(([series, values]) => ({ series, values: values.join(' ') }));
}
