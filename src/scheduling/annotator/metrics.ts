import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

/** Figures that are read when they are asked for. */
export interface AnnotatorState {
  readonly nodes: number;
  readonly bindings: number;
  readonly isLeading: boolean;
}

const PREFIX = 'cpusetd_annotator_';

/** The annotator's own metrics. */
export class AnnotatorMetrics {
  private readonly registry = new Registry();
  private readonly answeredMs = new Map<string, number>();
  private readonly queries = this.counter('queries_total', 'Queries to Prometheus', ['metric', 'result']);
  private readonly seconds = new Histogram({
    name: `${PREFIX}query_seconds`,
    help: 'Time until Prometheus had answered a query',
    labelNames: ['metric'],
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10],
    registers: [this.registry],
  });
  private readonly missing = this.gauge('nodes_without_figure', 'Nodes without a figure in the last answer', [
    'metric',
  ]);
  private readonly patches = this.counter('patches_total', 'Patches of Nodes', ['result']);
  private readonly dropped = this.counter('dropped_values_total', 'Values that were not written any more', ['reason']);
  private readonly pending = this.gauge('pending_nodes', 'Nodes with values that are to be written');

  constructor(metricNames: readonly string[], readState: () => AnnotatorState) {
    const startedMs = performance.now();
    for (const metric of metricNames) {
      // A figure that never came is as old as the process: there is no series otherwise, and an alert on its age stays
      // silent.
      this.answeredMs.set(metric, startedMs);
      this.queries.inc({ metric, result: 'ok' }, 0);
      this.queries.inc({ metric, result: 'error' }, 0);
    }
    for (const result of ['ok', 'error', 'gone']) this.patches.inc({ result }, 0);
    for (const reason of ['old', 'future']) this.dropped.inc({ reason }, 0);
    this.pending.set(0);
    this.readable('leading', '1 while this process holds the lease', () => Number(readState().isLeading));
    this.readable('nodes', 'Nodes that are known', () => readState().nodes);
    this.readable('bindings', 'Bindings that are remembered', () => readState().bindings);
    const age = new Gauge({
      name: `${PREFIX}last_answer_age_seconds`,
      help: 'Time since the last good answer of Prometheus; since the start, before the first one',
      labelNames: ['metric'],
      registers: [this.registry],
      collect: () => {
        for (const [metric, ms] of this.answeredMs) age.set({ metric }, (performance.now() - ms) / 1000);
      },
    });
  }

  get contentType(): string {
    return this.registry.contentType;
  }

  /** Figures of the process: memory, CPU time, event loop. */
  addProcessFigures(): void {
    collectDefaultMetrics({ register: this.registry, eventLoopMonitoringPrecision: 100 });
  }

  /** All figures in Prometheus' text format. */
  expose(): Promise<string> {
    return this.registry.metrics();
  }

  noteQuery(metric: string, isGood: boolean, seconds: number): void {
    this.queries.inc({ metric, result: isGood ? 'ok' : 'error' });
    this.seconds.observe({ metric }, seconds);
    if (isGood) this.answeredMs.set(metric, performance.now());
  }

  setMissing(metric: string, nodes: number): void {
    this.missing.set({ metric }, nodes);
  }

  countPatch(result: 'ok' | 'error' | 'gone' | 'dry-run'): void {
    this.patches.inc({ result });
  }

  /** `old`: older than readers believe. `future`: of the time before the clock was set back. */
  countDropped(reason: 'old' | 'future'): void {
    this.dropped.inc({ reason });
  }

  setPending(nodes: number): void {
    this.pending.set(nodes);
  }

  private counter(name: string, help: string, labelNames: string[]): Counter {
    return new Counter({ name: PREFIX + name, help, labelNames, registers: [this.registry] });
  }

  private gauge(name: string, help: string, labelNames: string[] = []): Gauge {
    return new Gauge({ name: PREFIX + name, help, labelNames, registers: [this.registry] });
  }

  private readable(name: string, help: string, read: () => number): void {
    const gauge: Gauge = new Gauge({
      name: PREFIX + name,
      help,
      registers: [this.registry],
      collect: () => gauge.set(read()),
    });
  }
}
