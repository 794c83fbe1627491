import type { QosActionName, QosOutcome } from '../../admin/metrics/qos-metrics';
import type { QosActionRecord, QosStatus, RuleStatus, ThrottledContainer } from '../../admin/model/qos-status';
import { hasCgroup, type Container } from '../../core/model/container';
import { analyze, NOTHING_ANALYZED, type Analysis, type AnalysisState } from '../../qos/analysis/analyze';
import type { AvoidanceEvent, Finding } from '../../qos/analysis/finding';
import { ordersOf } from '../../qos/avoidance/orders';
import type { AvoidancePlan } from '../../qos/avoidance/plan';
import { planAvoidance } from '../../qos/avoidance/plan-avoidance';
import type { AvoidanceOptions, AvoidanceSituation, ContainerState } from '../../qos/avoidance/situation';
import { matchPod } from '../../qos/objects/match-pod';
import type { AvoidanceAction, NodeQos, PodQos, QosPod } from '../../qos/objects/objects';
import { dropStale } from '../../qos/usage/drop-stale';
import type { Metrics } from '../../qos/usage/metrics';
import { METRIC } from '../../qos/usage/names';
import { BackOff } from '../../net/back-off';
import { pause } from '../../net/pause';
import type { Config } from '../config';
import type { DaemonContext } from '../context';
import { ActionExecutor, type ActionExecutorParts, type ActionRecord } from './action-executor';
import type { Collected } from './state-collector';

/** What the API server has about this node. */
export type ObjectsOfNode =
  | {
      readonly kind: 'known';
      readonly nodeQoss: readonly NodeQos[];
      readonly podQoss: readonly PodQos[];
      readonly actions: ReadonlyMap<string, AvoidanceAction>;
      readonly pods: readonly QosPod[];
      readonly nodeLabels: Readonly<Record<string, string>>;
    }
  /** No news of at least one of them for long: nobody knows whether the rules still hold. */
  | { readonly kind: 'unknown'; readonly because: string };

export interface AvoidanceParts extends Pick<ActionExecutorParts, 'memory' | 'quotas' | 'node'> {
  readonly context: Pick<DaemonContext, 'config' | 'model' | 'alarms' | 'faults' | 'events' | 'log'>;
  readonly objects: () => ObjectsOfNode;
  /** Writes an Event about the Node. */
  readonly tell: (event: AvoidanceEvent) => void;
  readonly count: (action: QosActionName, outcome: QosOutcome) => void;
  /** The clock, in ms since 1970. */
  readonly nowMs?: () => number;
}

/** Metrics that are older than so many collections are not used. */
export const STALE_AFTER = 3;
/** Time between two looks at whether there is something to undo. */
const LOOK_MS = 1_000;
/** Longest time that the end of the daemon waits for what is undone. */
const LAST_UNDO_MS = 8_000;
const MAX_RECENT = 50;

type QosMode = Config['qosActions'];

/**
 * Follows the rules of NodeQOS objects: analyzes each collection, and takes actions, or tells what they would be. It undoes all of them
 * when the option says so, when there is no news of the node or of the API server for long, at the end, and what a killed process left.
 */
export class Avoidance {
  private readonly executor: ActionExecutor;
  private readonly intervalMs: number;
  private readonly nowMs: () => number;
  private mode: QosMode;
  private limits: Pick<Config, 'qosActionsPerHour' | 'qosEvictionsPerHour' | 'executeExcess'>;
  private analysis: AnalysisState = NOTHING_ANALYZED;
  private findings: readonly Finding[] = [];
  private disabled: QosStatus['schedulingDisabled'];
  private because = 'nothing was measured yet';
  private recent: readonly QosActionRecord[] = [];
  /** Keys of what preview has told, so that it is told once. */
  private previewed: ReadonlySet<string> = new Set();
  private lastCollectedMs: number | undefined;
  /** What an earlier process left is undone. */
  private hasStarted = false;
  private readonly backOff = new BackOff({ leastMs: 1_000, mostMs: 60_000 });
  private nextUndoMs = -Infinity;
  private turn: Promise<void> = Promise.resolve();

  constructor(private readonly parts: AvoidanceParts) {
    const { context, memory, quotas, node, nowMs = Date.now } = parts;
    const { config, events } = context;
    this.nowMs = nowMs;
    this.intervalMs = config.collectIntervalMs ?? LOOK_MS;
    this.mode = config.qosActions;
    this.limits = config;
    this.executor = new ActionExecutor({
      ...{ context, memory, quotas, node, nowMs },
      record: (record) => this.note(record),
    });
    events.on('optionsChanged', 'following qos-actions', (changed) => {
      this.limits = changed;
      if (changed.qosActions === this.mode) return;
      this.mode = changed.qosActions;
      if (this.mode !== 'enforce') void this.inTurn(() => this.stop(`qos-actions is ${this.mode}`));
    });
  }

  /** For status and the page. */
  get status(): QosStatus {
    const { memory } = this.parts;
    const { actionsLeft, evictionsLeft } = this.options();
    return {
      mode: this.mode,
      because: this.because,
      rules: this.findings.map(toRuleStatus),
      ...(memory.tainted && this.disabled && { schedulingDisabled: this.disabled }),
      throttled: memory.throttles.map((throttle): ThrottledContainer => ({
        namespace: throttle.namespace,
        pod: throttle.pod,
        container: throttle.container,
        containerId: throttle.id,
        originalQuotaUs: throttle.originalUs,
        quotaUs: throttle.quotaUs,
        periodUs: throttle.periodUs,
        because: throttle.causes.map(({ rule, action }) => `${rule} has action ${action}`).join(', '),
        since: new Date(throttle.sinceMs).toISOString(),
      })),
      recent: this.recent,
      actionsLeft,
      evictionsLeft,
    };
  }

  /** Runs until the signal is aborted, then undoes all that is in force, as far as it can be done in some seconds. */
  async run(signal: AbortSignal): Promise<void> {
    const { faults, memory, log } = { ...this.parts.context, ...this.parts };
    while (!signal.aborted) {
      await faults.containAsync('looking for QoS actions to undo', () => this.inTurn(() => this.look()));
      await pause(LOOK_MS, signal);
    }
    const ended = new AbortController();
    const undoing = this.inTurn(async () => void (await this.executor.undo('cpusetd ends'))).finally(() =>
      ended.abort(),
    );
    await faults.containAsync('undoing QoS actions', () => Promise.race([undoing, pause(LAST_UNDO_MS, ended.signal)]));
    if (memory.isInForce)
      log.warn(
        { throttled: memory.throttles.length, tainted: memory.tainted, path: memory.path },
        'QoS actions are still in force: the next start undoes them',
      );
  }

  /** Takes a collection in: analyzes it, and acts. */
  take(collected: Collected): Promise<void> {
    return this.inTurn(() => this.round(collected));
  }

  private async round({ metrics, atMs }: Collected): Promise<void> {
    this.lastCollectedMs = atMs;
    if (this.mode === 'off') return this.stop('qos-actions is off');
    if (!this.hasStarted) return;
    const objects = this.parts.objects();
    if (objects.kind === 'unknown') return this.stop(objects.because);
    this.because = '';

    const fresh = dropStale(metrics, this.nowMs(), STALE_AFTER * this.intervalMs);
    const analysis = this.analyze(objects, fresh);
    for (const { event } of analysis.findings)
      if (event) this.parts.tell(this.mode === 'enforce' ? event : asPreview(event));
    const plan = planAvoidance(this.situationOf(objects, fresh, analysis.findings));
    this.notePreviewed(plan, analysis);
    if (this.mode === 'preview') return void (await this.undo('qos-actions is preview'));

    this.noteDisabled(analysis.scheduling.disabled, analysis.scheduling.because);
    await this.executor.followScheduling(analysis.scheduling, this.options().actionsLeft);
    for (const { subject, because } of plan.ended) this.note({ action: 'restore', subject, outcome: 'done', because });
    await this.executor.carryOut(plan);
  }

  private analyze(objects: ObjectsOfNode & { readonly kind: 'known' }, metrics: Metrics): Analysis {
    const nowMs = this.nowMs();
    const analysis = analyze(this.analysis, { ...objects, metrics, nowMs, lostAfterRounds: STALE_AFTER });
    this.analysis = analysis.state;
    this.findings = analysis.findings;
    return analysis;
  }

  private situationOf(
    { pods, podQoss }: ObjectsOfNode & { readonly kind: 'known' },
    metrics: Metrics,
    findings: readonly Finding[],
  ): AvoidanceSituation {
    const { context, memory } = this.parts;
    const [totalMemory] = metrics.get(METRIC.memoryTotal) ?? [];
    return {
      ...ordersOf(findings),
      pods,
      podQoses: podQoss,
      podMatches: matchPod,
      containers: listContainers(context.model, pods, metrics),
      cores: context.model.topology.online.size,
      ...(totalMemory && { totalMemoryBytes: totalMemory.value }),
      metrics,
      throttles: memory.throttles,
      options: this.options(),
      nowMs: this.nowMs(),
    };
  }

  /** What the budget of the hour still allows. */
  private options(): AvoidanceOptions {
    const { qosActionsPerHour, qosEvictionsPerHour, executeExcess } = this.limits;
    const spent = this.parts.memory.spent(this.nowMs());
    return {
      excess: executeExcess / 100,
      actionsLeft: Math.max(0, qosActionsPerHour - spent.actions),
      evictionsLeft: Math.max(0, qosEvictionsPerHour - spent.evictions),
    };
  }

  /** Undoes what an earlier process left, everything when nothing was measured for long, and what could not be undone before. */
  private async look(): Promise<void> {
    if (this.nowMs() < this.nextUndoMs) return;
    if (!this.hasStarted) {
      this.hasStarted = await this.undo('cpusetd has started again');
      return;
    }
    const { lastCollectedMs } = this;
    const silentMs = lastCollectedMs === undefined ? 0 : this.nowMs() - lastCollectedMs;
    if (silentMs > STALE_AFTER * this.intervalMs)
      await this.stop(`the node was not measured for ${Math.round(silentMs / 1000)} s`);
    else if (this.mode !== 'enforce') await this.undo(`qos-actions is ${this.mode}`);
  }

  /** True when nothing is in force any more. After a failure the next look tries again, later and later. */
  private async undo(because: string): Promise<boolean> {
    const isDone = await this.executor.undo(because);
    if (isDone) this.backOff.reset();
    this.nextUndoMs = isDone ? -Infinity : this.nowMs() + this.backOff.next();
    return isDone;
  }

  /** Undoes everything, and forgets how often rules have fired. */
  private async stop(because: string): Promise<void> {
    this.because = because;
    this.analysis = NOTHING_ANALYZED;
    this.findings = [];
    this.disabled = undefined;
    this.previewed = new Set();
    if (this.nowMs() >= this.nextUndoMs) await this.undo(because);
  }

  private noteDisabled(isDisabled: boolean, because: string): void {
    if (!isDisabled) this.disabled = undefined;
    else this.disabled ??= { because, since: new Date(this.nowMs()).toISOString() };
  }

  /** Tells what would be done, once for as long as it would. */
  private notePreviewed(plan: AvoidancePlan, { scheduling }: Analysis): void {
    const steps = this.mode === 'preview' ? [plan, plan.previewed] : [plan.previewed];
    const found = steps.flatMap(({ evictions, throttles }): Omit<ActionRecord, 'outcome'>[] => [
      ...evictions.map(({ pod, because }) => ({
        action: 'evict' as const,
        subject: `${pod.namespace}/${pod.name}`,
        because,
      })),
      ...throttles.map(({ pod, container, because }) => ({
        action: 'throttle' as const,
        subject: `${pod.namespace}/${pod.name}/${container}`,
        because,
      })),
    ]);
    if (this.mode === 'preview' && scheduling.disabled)
      found.push({ action: 'disable-scheduling', subject: 'node', because: scheduling.because });
    const keys = new Set(found.map(({ action, subject }) => `${action} ${subject}`));
    for (const { action, subject, because } of found)
      if (!this.previewed.has(`${action} ${subject}`)) this.note({ action, subject, outcome: 'preview', because });
    this.previewed = keys;
  }

  private note(record: ActionRecord): void {
    this.recent = [{ at: new Date(this.nowMs()).toISOString(), ...record }, ...this.recent].slice(0, MAX_RECENT);
    this.parts.count(record.action, record.outcome);
    this.parts.context.events.emit('changed');
  }

  /** One after the other; a failure is a fault, and the next one is done all the same. */
  private inTurn(work: () => Promise<void>): Promise<void> {
    const { faults } = this.parts.context;
    this.turn = this.turn.then(() => faults.containAsync('taking QoS actions', work));
    return this.turn;
  }
}

function toRuleStatus({ key, state, actionName, because }: Finding): RuleStatus {
  return { rule: key, state, action: actionName, because };
}

function asPreview(event: AvoidanceEvent): AvoidanceEvent {
  return { ...event, message: `${event.message} (preview: nothing is done)` };
}

/** The containers of these pods that have a cgroup, with their last use. */
function listContainers(
  model: DaemonContext['model'],
  pods: readonly QosPod[],
  metrics: Metrics,
): readonly ContainerState[] {
  const valuesOf = (name: string): ReadonlyMap<string, number> =>
    new Map((metrics.get(name) ?? []).map(({ labels, value }) => [labels['ContainerId'] ?? '', value]));
  const cpus = valuesOf(METRIC.containerCpuTotalUsage);
  const memory = valuesOf(METRIC.containerMemTotalUsage);
  const quotas = valuesOf(METRIC.containerCpuQuota);
  const periods = valuesOf(METRIC.containerCpuPeriod);
  return pods.flatMap(({ uid, runtimeUid }) =>
    model
      .containersOf(runtimeUid)
      .filter((container) => container.pause === undefined && hasCgroup(container))
      .map((container): ContainerState => {
        const { id, name } = container;
        const [milliCpu, memoryBytes, quotaUs, periodUs] = [cpus, memory, quotas, periods].map((of) => of.get(id));
        return {
          ...{ id, name, podUid: uid, isPinned: isPinned(container) },
          ...(milliCpu !== undefined && { milliCpu: milliCpu * 1000 }),
          ...(memoryBytes !== undefined && { memoryBytes }),
          ...(quotaUs !== undefined && { quotaUs }),
          ...(periodUs !== undefined && { periodUs }),
        };
      }),
  );
}

/** True where cpusetd promises CPUs or a quota, or will: no action is taken against these. */
function isPinned({ placement, quota, waitingSince, entitledCpus }: Container): boolean {
  const isPlain = placement === 'shared' || placement === 'left-alone';
  return !isPlain || quota !== undefined || waitingSince !== undefined || entitledCpus > 0;
}
