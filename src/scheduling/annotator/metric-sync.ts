import type { Logger } from 'pino';
import { backOffMs } from '../../net/back-off';
import { EarliestTimer } from '../../net/earliest-timer';
import type { SyncPolicy } from '../policy/policy';
import type { AnnotatorMetrics } from './metrics';
import { FigureFinder, type NodeAddress } from './prometheus/find-figure';
import type { QueryResult } from './prometheus/parse-answer';

export interface MetricSyncParts {
  readonly policy: SyncPolicy;
  /** Matchers of labels that series have to have too, as in `cluster="a"`. */
  readonly selector?: string | undefined;
  readonly query: (expression: string, timeMs: number) => Promise<QueryResult>;
  readonly nodes: { get(name: string): NodeAddress | undefined; names(): Iterable<string> };
  /** A node has a new figure; `isUrgent`: it had none. */
  readonly onFigure: (node: string, ratio: number, stampMs: number, isUrgent: boolean) => void;
  /**
   * Time of the second query, as a fraction of the period: less than 1, so that not all metrics are asked for at once.
   */
  readonly firstPeriod: number;
  readonly metrics: Pick<AnnotatorMetrics, 'noteQuery' | 'setMissing'>;
  /** Wall clock. */
  readonly nowMs: () => number;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** As crane-scheduler's queue has it. */
const BACK_OFF = { leastMs: 10_000, mostMs: 360_000 };
/** Nodes that appear within this time share a query. */
const GATHER_MS = 1_000;
/** A new node gets its figure from the last answer when that is younger. */
const YOUNG_MS = 30_000;
/** Maximum delay of a sample behind the time that was asked for. */
const AHEAD_MS = 5_000;
const MOST_NAMED = 3;
/** Node's timers do not take more than 24 days. */
const LONGEST_TIMER_MS = 86_400_000;

/**
 * Asks for one metric: one query for all nodes, in each period. A node without a figure is asked for again after a
 * growing pause, with a query that all such nodes share; other nodes get no new figure by it.
 */
export class MetricSync {
  private readonly timer: EarliestTimer;
  /** Nodes that have no figure of this period. */
  private readonly due = new Set<string>();
  /** Nodes that have had a figure from us. */
  private readonly served = new Set<string>();
  private asking: Promise<void> | undefined;
  private nextTickMs = 0;
  private failures = 0;
  private last: { readonly finder: FigureFinder; readonly askedMs: number; readonly atMs: number } | undefined;
  private missing = '';

  constructor(private readonly parts: MetricSyncParts) {
    this.timer = new EarliestTimer(() => this.run(), parts.signal);
  }

  /** Asks for all nodes now, and then in each period. Resolves after the first answer. */
  async start(): Promise<void> {
    const { policy, firstPeriod } = this.parts;
    this.nextTickMs = performance.now() + policy.periodMs * firstPeriod;
    this.addAll();
    await this.ask();
    this.schedule();
  }

  /** Asks for all nodes soon: the clock was set. */
  restart(): void {
    this.last = undefined;
    this.addAll();
    this.timer.startIn(0);
  }

  /** The node is new, or its address is. */
  add(node: NodeAddress): void {
    this.due.add(node.name);
    this.served.delete(node.name);
    const { last } = this;
    if (last && performance.now() < last.atMs + Math.min(YOUNG_MS, this.parts.policy.periodMs)) {
      this.take(node.name, last.finder, last.askedMs);
      if (!this.due.has(node.name)) return;
    }
    this.failures = 0;
    this.timer.startIn(GATHER_MS);
  }

  remove(name: string): void {
    this.due.delete(name);
    this.served.delete(name);
  }

  private addAll(): void {
    for (const name of this.parts.nodes.names()) this.due.add(name);
  }

  private async run(): Promise<void> {
    const now = performance.now();
    if (now >= this.nextTickMs) {
      const { periodMs } = this.parts.policy;
      this.nextTickMs = Math.max(this.nextTickMs + periodMs, now + periodMs / 2);
      this.addAll();
    }
    if (this.due.size > 0) await this.ask();
    this.schedule();
  }

  private schedule(): void {
    const { periodMs } = this.parts.policy;
    this.timer.startIn(Math.min(LONGEST_TIMER_MS, Math.max(0, this.nextTickMs - performance.now())));
    if (this.due.size > 0)
      this.timer.startIn(Math.min(periodMs, backOffMs(Math.max(0, this.failures - 1), { ...BACK_OFF, jitter: 0.1 })));
  }

  /** One query at a time. */
  private ask(): Promise<void> {
    this.asking ??= this.askOnce().finally(() => (this.asking = undefined));
    return this.asking;
  }

  private async askOnce(): Promise<void> {
    const { policy, selector, query, metrics, nowMs, log, signal } = this.parts;
    const { name: metric, periodMs } = policy;
    const askedMs = nowMs();
    const begunMs = performance.now();
    const result = await query(expressionOf(metric, selector), askedMs);
    if (signal.aborted) return;
    metrics.noteQuery(metric, result.ok, (performance.now() - begunMs) / 1000);
    if (!result.ok) {
      this.failures++;
      const { because } = result;
      log.warn(
        { metric, because: `Prometheus ${because}`, nodes: this.due.size },
        'no figures of this metric; asking again',
      );
      return;
    }
    const finder = new FigureFinder(result.series);
    this.last = { finder, askedMs, atMs: begunMs };
    const missing: string[] = [];
    for (const name of this.due) {
      const because = this.take(name, finder, askedMs);
      if (because !== undefined) missing.push(`${name}: ${because}`);
    }
    this.failures = missing.length > 0 ? this.failures + 1 : 0;
    this.noteMissing(missing, result.series.length, periodMs);
  }

  /** Hands the figure of a node on. Returns the reason for its having none. */
  private take(name: string, finder: FigureFinder, askedMs: number): string | undefined {
    const { nodes, onFigure } = this.parts;
    const node = nodes.get(name);
    if (node === undefined) {
      this.remove(name);
      return undefined;
    }
    const found = finder.find(node);
    if (found.kind === 'none') return `no series of ${node.address} or ${name}`;
    if (found.kind === 'fault') return found.because;
    if (found.timeMs > askedMs + AHEAD_MS) return 'the sample is of the future: compare the clocks';
    this.due.delete(name);
    // Of the time that it is of, however old that is: a proxy may answer with what it has kept.
    onFigure(name, found.ratio, Math.min(found.timeMs, askedMs), !this.served.has(name));
    this.served.add(name);
    return undefined;
  }

  /** Says once which nodes have no figure, and again when others are concerned. */
  private noteMissing(missing: readonly string[], series: number, periodMs: number): void {
    const { policy, metrics, log } = this.parts;
    metrics.setMissing(policy.name, missing.length);
    const names = missing.map((text) => text.slice(0, text.indexOf(':'))).join();
    const isKnown = names === this.missing;
    this.missing = names;
    if (isKnown) return;
    const facts = { metric: policy.name, nodes: missing.length, series, periodMs };
    if (missing.length > 0) log.warn({ ...facts, examples: missing.slice(0, MOST_NAMED) }, 'nodes have no figure');
    else log.info(facts, 'all nodes have a figure');
  }
}

/**
 * The figures of a metric in per cent, as ratios. Annotation names allow more characters than names of metrics in an
 * expression do.
 */
export function expressionOf(metric: string, selector = ''): string {
  const isName = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/.test(metric);
  const matchers = [isName ? '' : `__name__=${JSON.stringify(metric)}`, selector].filter((each) => each !== '');
  return `${isName ? metric : ''}${matchers.length > 0 ? `{${matchers.join(',')}}` : ''} /100`;
}
