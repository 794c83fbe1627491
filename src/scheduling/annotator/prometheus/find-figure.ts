import type { Series } from './parse-answer';

/** The labels by which a node's series are found. */
export interface NodeAddress {
  readonly name: string;
  /** Its first internal IP; its name when it has none. */
  readonly address: string;
}

export type Found =
  | { readonly kind: 'ratio'; readonly ratio: number; readonly timeMs: number }
  | { readonly kind: 'none' }
  | { readonly kind: 'fault'; readonly because: string };

const MOST_NAMED = 5;
const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;

/** Finds the figures of nodes in the answer for all nodes, by the label `instance`. */
export class FigureFinder {
  private readonly byInstance = new Map<string, Series[]>();
  private readonly byHost = new Map<string, Series[]>();

  constructor(series: readonly Series[]) {
    for (const each of series) {
      add(this.byInstance, each.instance, each);
      const host = hostOf(each.instance);
      if (host !== undefined) add(this.byHost, host, each);
    }
  }

  /**
   * The figure of a node. Its series is looked for by `IP`, then by `IP:port`, then by the node's name, as
   * crane-scheduler does; the first of these that there is counts. Several series of it are a fault, since none of them
   * is more right than the others.
   */
  find({ name, address }: NodeAddress): Found {
    const series = this.byInstance.get(address) ?? this.byHost.get(address) ?? this.byInstance.get(name);
    if (series === undefined) return { kind: 'none' };
    const [first, ...others] = series;
    if (others.length > 0) return { kind: 'fault', because: describeSeveral(series) };
    return readSeries(first!);
  }
}

/** A ratio beyond this is no load of a node. Figures are parts of 1; the load of a queue may be some dozens. */
const MAX_RATIO = 1_000;

/**
 * A value a little below zero counts as 0: the difference of two samples may give it. What is no load is a fault, and
 * nothing is written. NaN (a division by nothing) is one: a node of which nothing is known is not idle.
 */
function readSeries({ value, timeMs, instance }: Series): Found {
  if (!Number.isFinite(timeMs)) return { kind: 'fault', because: `the series of ${instance} has no time` };
  const ratio = NUMBER.test(value) ? Number(value) : NaN;
  if (ratio > -1 && ratio <= MAX_RATIO) return { kind: 'ratio', ratio: Math.max(0, ratio), timeMs };
  const shown = JSON.stringify(value.slice(0, 50));
  return { kind: 'fault', because: `the series of ${instance} has the value ${shown}, which is no load of a node` };
}

function describeSeveral(series: readonly Series[]): string {
  const shown = series
    .slice(0, MOST_NAMED)
    .map(({ instance, job }) => (job === '' ? instance : `${instance} (${job})`));
  const rest = series.length > MOST_NAMED ? ` and ${series.length - MOST_NAMED} more` : '';
  return `${series.length} series are of this node: ${shown.join(', ')}${rest}`;
}

/** The host of `host:port` and `[host]:port`; undefined for anything else. */
function hostOf(instance: string): string | undefined {
  const [, v6, other] = /^(?:\[([^\]]+)\]|([^:[\]]+)):./.exec(instance) ?? [];
  return v6 ?? other;
}

function add(map: Map<string, Series[]>, key: string, series: Series): void {
  const known = map.get(key);
  if (known) known.push(series);
  else map.set(key, [series]);
}
