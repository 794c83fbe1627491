import type { Logger } from 'pino';
import { CollectionInformer, type KubeClient, type Leadership } from '../../kube';
import { pause } from '../../net/pause';
import type { Bindings } from '../load/bindings';
import { formatFigure, formatHotValue, GRACE_MS, HOT_VALUE } from '../load/figure';
import { longestRangeMs } from '../load/hot-value';
import type { TimeZone } from '../load/time-zone';
import type { SchedulerPolicy, SyncPolicy } from '../policy/policy';
import { AnnotationWriter, type AnnotationValues } from './annotation-writer';
import { BindingFollower } from './binding-follower';
import type { BindingSource } from './binding-source';
import { watchClock } from './clock-watch';
import { HotValues } from './hot-values';
import { MetricSync } from './metric-sync';
import type { AnnotatorMetrics } from './metrics';
import { isSameNode, toNodeEntry, type NodeEntry } from './node-entry';
import type { QueryResult } from './prometheus/parse-answer';

export interface AnnotatorParts {
  readonly policy: SchedulerPolicy;
  readonly zone: TimeZone;
  /** For reading and for writing; it ends with the leadership. */
  readonly client: Pick<KubeClient, 'send' | 'watch'>;
  /** Matchers of labels of the series that count; all by default. */
  readonly metricSelector?: string | undefined;
  readonly query: (expression: string, timeMs: number) => Promise<QueryResult>;
  readonly leadership: Leadership;
  readonly bindings: Bindings;
  readonly bindingSource: BindingSource;
  readonly metrics: AnnotatorMetrics;
  /** Most patches at once. */
  readonly parallel: number;
  /** Nothing is written, only counted and logged. */
  readonly isDryRun: boolean;
  readonly log: Logger;
  /** Wall clock. */
  readonly nowMs: () => number;
}

/** Values of a node that come within this time share a patch. */
const GATHER_MS = 300;
/** The patches of one period are spread over a sixth of it, and over this time at most. */
const SPREAD_MS = 60_000;
/** Hot values that are written again without a change are spread over this time. */
const HOT_SPREAD_MS = 30_000;
/** Time between two looks at a list that is not complete yet. */
const LOOK_MS = 50;

/** Writes load figures and hot values of all Nodes. */
export class Annotator {
  private readonly nodes: CollectionInformer<NodeEntry>;
  private readonly writer: AnnotationWriter;
  private readonly hotValues: HotValues;
  private readonly syncs: readonly MetricSync[];
  private readonly follower: BindingFollower;
  private readonly hasHotValues: boolean;
  private hasBegun = false;

  constructor(private readonly parts: AnnotatorParts) {
    const { client, leadership, log, nowMs, policy } = parts;
    const { signal } = leadership;
    const common = { nowMs, log, signal };
    this.nodes = new CollectionInformer<NodeEntry>({
      client,
      path: '/api/v1/nodes',
      reduce: toNodeEntry,
      isSame: isSameNode,
      onChange: (node) => this.addNode(node),
      onDelete: ({ name }) => this.removeNode(name),
      log,
      signal,
    });
    this.writer = new AnnotationWriter({
      ...parts,
      listExtras: (node) => this.renewHotValue(node),
      onGone: (node) => log.info({ node }, 'the API server knows no Node of this name any more'),
    });
    const nodes = {
      get: (name: string) => this.nodes.get(name),
      has: (name: string) => this.nodes.get(name) !== undefined,
      names: () => this.nodes.keys(),
    };
    this.hasHotValues = policy.hotValue.length > 0;
    this.hotValues = new HotValues({
      ...parts,
      nodes,
      onHotValue: (node, hotValue, stampMs, isChanged) =>
        this.writer.put(
          node,
          this.formatHotValue(hotValue, stampMs),
          GATHER_MS + (isChanged ? 0 : Math.random() * HOT_SPREAD_MS),
        ),
      signal,
    });
    this.follower = new BindingFollower({
      ...common,
      client,
      source: parts.bindingSource,
      bindings: parts.bindings,
      longestRangeMs: longestRangeMs(policy),
      onChange: (node) => this.hotValues.touch(node),
    });
    // Metrics of the same period are asked for together, so that they share patches; those of different periods are
    // not.
    const firstPeriods = new Map(policy.syncPolicy.map(({ periodMs }) => [periodMs, 1 - 0.1 * Math.random()]));
    this.syncs = policy.syncPolicy.map(
      (sync) =>
        new MetricSync({
          ...common,
          policy: sync,
          selector: parts.metricSelector,
          query: parts.query,
          nodes,
          onFigure: (node, ratio, stampMs, isUrgent) => this.takeFigure(sync, { node, ratio, stampMs, isUrgent }),
          firstPeriod: firstPeriods.get(sync.periodMs)!,
          metrics: parts.metrics,
        }),
    );
  }

  get nodeCount(): number {
    return this.nodes.size;
  }

  /** Runs until the leadership ends; never rejects. */
  async run(): Promise<void> {
    await Promise.all([this.nodes.run(), this.hasHotValues && this.follower.run(), this.begin()]);
  }

  private async begin(): Promise<void> {
    const { leadership, log, nowMs } = this.parts;
    const { signal } = leadership;
    while (!this.nodes.isSynced && !signal.aborted) await pause(LOOK_MS, signal);
    if (signal.aborted) return;
    log.info({ nodes: this.nodes.size, metrics: this.syncs.length }, 'the Nodes are known: asking Prometheus');
    this.hasBegun = true;
    watchClock({ nowMs, signal, onStep: (byMs) => this.restart(byMs) });
    const hotValues = this.beginHotValues();
    // All first figures of a node share a patch.
    await Promise.all(this.syncs.map((sync) => sync.start()));
    this.writer.start();
    await hotValues;
  }

  /** Waits for all bindings, since the values from a part of them would be too low. */
  private async beginHotValues(): Promise<void> {
    const { signal } = this.parts.leadership;
    while (this.hasHotValues && !this.follower.isSynced && !signal.aborted) await pause(LOOK_MS, signal);
    if (this.hasHotValues && !signal.aborted) this.hotValues.start();
  }

  private restart(byMs: number): void {
    this.parts.log.warn({ byMs }, 'the clock was set: all values are written anew');
    for (const sync of this.syncs) sync.restart();
    this.hotValues.restart();
  }

  private addNode(node: NodeEntry): void {
    if (!this.hasBegun) return;
    for (const sync of this.syncs) sync.add(node);
    this.hotValues.remove(node.name);
    this.hotValues.touch(node.name);
  }

  private removeNode(name: string): void {
    this.writer.forget(name);
    this.hotValues.remove(name);
    for (const sync of this.syncs) sync.remove(name);
  }

  private takeFigure(
    { name, periodMs }: SyncPolicy,
    figure: { readonly node: string; readonly ratio: number; readonly stampMs: number; readonly isUrgent: boolean },
  ): void {
    const { node, ratio, stampMs, isUrgent } = figure;
    const text = formatFigure({ value: ratio, stampMs }, this.parts.zone);
    const gatherMs = Math.min(GATHER_MS, periodMs / 10);
    const spreadMs = isUrgent ? 0 : Math.random() * Math.min(SPREAD_MS, periodMs / 6);
    this.writer.put(node, new Map([[name, { text, stampMs, validForMs: periodMs + GRACE_MS }]]), gatherMs + spreadMs);
  }

  private renewHotValue(node: string): AnnotationValues {
    const renewed = this.hotValues.renew(node);
    return renewed ? this.formatHotValue(renewed.hotValue, renewed.stampMs) : new Map();
  }

  private formatHotValue(hotValue: number, stampMs: number): AnnotationValues {
    const text = formatHotValue({ value: hotValue, stampMs }, this.parts.zone);
    return new Map([[HOT_VALUE, { text, stampMs, validForMs: GRACE_MS }]]);
  }
}
