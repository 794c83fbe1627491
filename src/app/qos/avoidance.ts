import type { QosActionName, QosOutcome } from '../../admin/metrics/qos-metrics';
import type { QosActionRecord, QosStatus, RuleStatus, ThrottledContainer } from '../../admin/model/qos-status';
import { hasCgroup, type Container } from '../../core/model/container';
import { machineOf } from '../../core/topology';
import { analyze, NOTHING_ANALYZED, type Analysis, type AnalysisState } from '../../qos/analysis/analyze';
import type { AvoidanceEvent, Finding } from '../../qos/analysis/finding';
import { ordersOf } from '../../qos/avoidance/orders';
import { findLowQuotas, type LowQuotas } from '../../qos/avoidance/own-throttles';
import type { AvoidancePlan } from '../../qos/avoidance/plan';
import { planAvoidance } from '../../qos/avoidance/plan-avoidance';
import type {
  AvoidanceOptions,
  AvoidanceSituation,
  ContainerState,
  Throttle,
  Yielded,
} from '../../qos/avoidance/situation';
import type { PodActionEvent } from '../../qos/avoidance/pod-event';
import { groupBy } from '../../qos/avoidance/select-pods';
import { matchPod } from '../../qos/objects/match-pod';
import { isEnding } from '../../qos/objects/is-ending';
import type { AvoidanceAction, NodeQos, PodQos, QosPod } from '../../qos/objects/objects';
import { dropStale } from '../../qos/usage/drop-stale';
import type { Metrics } from '../../qos/usage/metrics';
import { METRIC } from '../../qos/usage/names';
import { BackOff } from '../../net/back-off';
import { pause } from '../../net/pause';
import type { DaemonContext } from '../context';
import { undoWithin } from '../owed-effects/undo-within';
import { ActionExecutor, type ActionExecutorParts, type ActionRecord, type UnknownThrottles } from './action-executor';
import type { Collected } from './state-collector';

/** The objects of the API server that are about this node. */
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

type Config = DaemonContext['config'];

type KnownObjects = ObjectsOfNode & { readonly kind: 'known' };

export interface AvoidanceParts extends Pick<ActionExecutorParts, 'memory' | 'quotas' | 'node'> {
  readonly context: Pick<DaemonContext, 'config' | 'model' | 'alarms' | 'faults' | 'events' | 'log'>;
  readonly objects: () => ObjectsOfNode;
  /** Writes an Event about the Node. */
  readonly tell: (event: AvoidanceEvent) => void;
  /** Writes an Event about a pod. */
  readonly tellPod: (event: PodActionEvent) => void;
  readonly count: (action: QosActionName, outcome: QosOutcome) => void;
  /** The clock, in ms since 1970. */
  readonly nowMs?: () => number;
  /** A clock that nobody sets, in ms. */
  readonly elapsedMs?: () => number;
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
  private readonly elapsedMs: () => number;
  private mode: QosMode;
  private limits: Pick<Config, 'qosActionsPerHour' | 'qosEvictionsPerHour' | 'executeExcess'>;
  private analysis: AnalysisState = NOTHING_ANALYZED;
  private findings: readonly Finding[] = [];
  private because = 'nothing was measured yet';
  private recent: readonly QosActionRecord[] = [];
  /** Keys of what preview has told, so that it is told once. */
  private previewed: ReadonlySet<string> = new Set();
  /** The actions, and whose budget, for which the spent budget was told. */
  private outOfBudget: ReadonlySet<string> = new Set();
  /** Containers that are left to who has changed their quota. */
  private yielded: readonly Yielded[] = [];
  /** Time of the last collection whose rules were followed, and of the last one at all; of the clock that nobody sets. */
  private followedMs: number | undefined;
  private collectedMs: number | undefined;
  /** True when what an earlier process left is undone, but for throttles that can't be now. */
  private hasStarted = false;
  /** Rules were followed since everything was undone. */
  private isActing = false;
  /** Aborted when no action may begin any more. */
  private acting = new AbortController();
  private isEnding = false;
  private readonly backOff = new BackOff({ leastMs: 1_000, mostMs: 60_000 });
  private nextUndoMs = -Infinity;
  private waitsForRuntime = false;
  private turn: Promise<void> = Promise.resolve();

  constructor(private readonly parts: AvoidanceParts) {
    const { context, memory, quotas, node, nowMs = Date.now, elapsedMs = () => performance.now() } = parts;
    const { config, events } = context;
    this.nowMs = nowMs;
    this.elapsedMs = elapsedMs;
    this.intervalMs = config.collectIntervalMs ?? LOOK_MS;
    this.mode = config.qosActions;
    this.limits = config;
    this.executor = new ActionExecutor({
      ...{ context, memory, quotas, node, nowMs, elapsedMs },
      interrupted: () => this.acting.signal,
      record: (record, isNews) => this.note(record, isNews),
    });
    events.on('optionsChanged', 'following qos-actions', (changed) => this.follow(changed));
  }

  /** For status and the page. */
  get status(): QosStatus {
    const { memory } = this.parts;
    const { actionsLeft, evictionsLeft } = this.options();
    const disabled = this.executor.schedulingDisabled;
    return {
      mode: this.mode,
      because: this.because,
      rules: this.findings.map(toRuleStatus),
      ...(disabled && {
        schedulingDisabled: { because: disabled.because, since: new Date(disabled.sinceMs).toISOString() },
      }),
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
    const { memory, context } = this.parts;
    const aborted = new Promise<void>((resolve) => {
      const end = (): void => {
        this.isEnding = true;
        this.acting.abort();
        resolve();
      };
      if (signal.aborted) end();
      else signal.addEventListener('abort', end, { once: true });
    });
    while (!signal.aborted) {
      // A look that hangs does not delay the end.
      await Promise.race([this.inTurn(() => this.look(), 'looking for QoS actions to undo'), aborted]);
      await pause(LOOK_MS, signal);
    }
    const undo = (): Promise<void> =>
      this.inTurn(async () => {
        await this.executor.undo('cpusetd ends', this.findUnknown());
      });
    await undoWithin(LAST_UNDO_MS, () => undo().then(() => undefined), 'it took too long');
    this.executor.close();
    if (memory.isInForce)
      context.log.warn(
        { throttled: memory.throttles.length, tainted: memory.tainted, path: memory.path },
        'QoS actions are still in force: the next start undoes them',
      );
  }

  /** Takes a collection in: analyzes it, and acts. */
  take(collected: Collected): Promise<void> {
    this.collectedMs = this.elapsedMs();
    return this.inTurn(() => (this.isEnding ? Promise.resolve() : this.round(collected)));
  }

  /** Takes changed options. Everything but `enforce` interrupts the round under way, and undoes everything. */
  private follow(changed: Config): void {
    this.limits = changed;
    if (changed.qosActions === this.mode) return;
    this.mode = changed.qosActions;
    if (this.mode === 'enforce') {
      if (!this.isEnding) this.acting = new AbortController();
      return;
    }
    this.acting.abort();
    const because = `qos-actions is ${this.mode}`;
    this.inTurn(() => this.stop(because, true)).catch(() => undefined); // it never rejects
  }

  private async round({ metrics }: Collected): Promise<void> {
    if (this.mode === 'off') return this.stop('qos-actions is off');
    if (!this.hasStarted) return;
    // Containers that are not known yet may have promised CPUs.
    if (!this.parts.context.model.synchronized) return this.stop('the runtime has not sent its containers yet');
    const objects = this.parts.objects();
    if (objects.kind === 'unknown') return this.stop(objects.because);
    const lost = this.mode === 'enforce' ? this.parts.memory.whyNoAction : undefined;
    if (lost !== undefined) return this.stop(lost);
    this.because = '';
    this.followedMs ??= this.elapsedMs();

    const fresh = dropStale(metrics, this.nowMs(), STALE_AFTER * this.intervalMs);
    const analysis = this.analyze(objects, fresh);
    for (const { event, isPreview } of analysis.findings)
      if (event) this.parts.tell(this.mode === 'enforce' && !isPreview ? event : asPreview(event));
    if (this.mode === 'preview') {
      this.notePreviewed(planAvoidance(this.situationOf(objects, fresh, analysis.findings)), analysis);
      if (this.isUndoDue) await this.undo('qos-actions is preview');
    } else await this.act(objects, fresh, analysis);
    this.followedMs = this.elapsedMs();
  }

  private async act(objects: KnownObjects, metrics: Metrics, analysis: Analysis): Promise<void> {
    const { memory } = this.parts;
    const signal = this.acting.signal;
    const owed = this.findUnknown();
    if ('because' in owed) return this.stop(owed.because);
    this.isActing = true;
    const lost = this.listLost(objects);
    await this.executor.giveBack(lost, 'its pod, or cpusetd’s promise to it, has changed');
    if (signal.aborted) return;
    const kept = memory.throttles.filter(({ id }) => lost.some((one) => one.id === id));
    const { scheduling, findings } = analysis;
    const refusedThrottles = new Map([...this.executor.refusedThrottles, ...whyOwed(owed)]);
    const situation = { ...this.situationOf(objects, metrics, findings, kept), refusedThrottles };
    const { actionsLeft } = situation.options;
    // The taint is an action too, and comes first.
    const options = scheduling.disabled && !memory.tainted ? afterTaint(situation.options) : situation.options;
    const plan = planAvoidance({ ...situation, options });
    await this.executor.followScheduling(scheduling, actionsLeft);
    if (signal.aborted) return;
    this.yielded = plan.yielded;
    this.notePreviewed(plan, analysis);
    this.noteBudget(plan);
    await this.executor.carryOut(plan, kept);
  }

  /**
   * Throttles that no rule can decide on any more, while their container runs: the API server does not have its pod, or cpusetd has promised it CPUs
   * since. A quota that cpusetd manages is left to it.
   */
  private listLost({ pods }: KnownObjects): readonly Throttle[] {
    const { context, memory } = this.parts;
    const uids = new Set(pods.map(({ uid }) => uid));
    return memory.throttles.filter(({ id, podUid }) => {
      const container = context.model.containers.get(id);
      if (!container || !hasCgroup(container)) return false;
      return isPinned(container) ? container.quota === undefined : !uids.has(podUid);
    });
  }

  private analyze(objects: KnownObjects, metrics: Metrics): Analysis {
    const nowMs = this.nowMs();
    const analysis = analyze(this.analysis, { ...objects, metrics, nowMs, lostAfterRounds: STALE_AFTER });
    this.analysis = analysis.state;
    this.findings = analysis.findings;
    return analysis;
  }

  private situationOf(
    { pods: told, podQoss }: KnownObjects,
    metrics: Metrics,
    findings: readonly Finding[],
    kept: readonly Throttle[] = [],
  ): AvoidanceSituation {
    const { context, memory } = this.parts;
    const { executor } = this;
    const nowMs = this.nowMs();
    const pods = told.map((pod) => ({ ...pod, isBeingDeleted: executor.isLeaving(pod.uid) || isEnding(pod, nowMs) }));
    const [totalMemory] = metrics.get(METRIC.memoryTotal) ?? [];
    return {
      ...ordersOf(findings),
      pods,
      podQoses: podQoss,
      podMatches: matchPod,
      containers: listContainers(context.model, pods, metrics),
      cores: machineOf(context.model.topology).online.size,
      ...(totalMemory && { totalMemoryBytes: totalMemory.value }),
      metrics,
      throttles: memory.throttles.filter((throttle) => !kept.includes(throttle)),
      yielded: this.yielded,
      refusedEvictions: executor.refusedEvictions,
      refusedThrottles: executor.refusedThrottles,
      options: this.options(),
      nowMs,
    };
  }

  /** The options of a plan, with the rest of the hour's budget. */
  private options(): AvoidanceOptions {
    const { qosActionsPerHour, qosEvictionsPerHour, executeExcess } = this.limits;
    const spent = this.parts.memory.spent(this.nowMs());
    return {
      excess: executeExcess / 100,
      actionsLeft: Math.max(0, qosActionsPerHour - spent.actions),
      evictionsLeft: Math.max(0, qosEvictionsPerHour - spent.evictions),
      spentBy: spent.of,
    };
  }

  /** Undoes what an earlier process left, everything when nothing was measured for long, and what could not be undone before. */
  private async look(): Promise<void> {
    const { memory, context } = this.parts;
    if (memory.isLoaded) memory.look();
    if (!this.hasStarted) {
      if (!this.isUndoDue || !this.loadMemory()) return;
      const isDone = await this.undo('cpusetd has started again');
      // A container that can't be undone keeps rules from no other: they decide on its throttle, or leave it alone as long as it is owed.
      const areOnlyQuotasLeft = context.model.synchronized && !memory.tainted && !('because' in this.findUnknown());
      this.hasStarted = isDone || areOnlyQuotasLeft;
      if (!this.hasStarted && this.mode !== 'off')
        this.because = `what an earlier process left is not undone yet: ${this.whyNotUndone}`;
      return;
    }
    memory.tidy(this.nowMs());
    const now = this.elapsedMs();
    const lateMs = STALE_AFTER * this.intervalMs;
    const silentMs = now - (this.followedMs ?? now);
    if (silentMs > lateMs) {
      const isMeasured = now - (this.collectedMs ?? now) <= lateMs;
      const what = isMeasured ? 'rules could not be followed' : 'the node was not measured';
      await this.stop(`${what} for ${Math.round(silentMs / 1000)} s`);
    } else if (memory.isInForce && this.isUndoDue) {
      if (!this.isActing) await this.undo(this.because || `qos-actions is ${this.mode}`);
      else if (memory.owesUnknown) await this.undoUnknownAgain();
    }
  }

  /** False while what an earlier process left can't be read: nothing is done then, since it would be forgotten. */
  private loadMemory(): boolean {
    const { memory, context } = this.parts;
    if (!memory.isLoaded) {
      const problem = memory.load(this.nowMs());
      const because = problem && `earlier QoS actions are not known, so none is taken: ${problem}`;
      context.alarms.update('qos-actions', 'load', because);
      if (because !== undefined) {
        this.because = because;
        this.nextUndoMs = this.elapsedMs() + this.backOff.next();
        return false;
      }
    }
    this.executor.takeUp();
    return true;
  }

  /** After a failure it is tried again later and later, and when the runtime has told of its containers. */
  private get isUndoDue(): boolean {
    return this.elapsedMs() >= this.nextUndoMs || (this.waitsForRuntime && this.parts.context.model.synchronized);
  }

  private get whyNotUndone(): string {
    const { executor, parts } = this;
    if (!parts.context.model.synchronized) return 'the runtime has not sent its containers yet';
    return executor.whyNotUndone || 'it could not be saved that it is';
  }

  /** True when nothing is in force any more. */
  private async undo(because: string): Promise<boolean> {
    const { memory, context } = this.parts;
    const isDone = await this.executor.undo(because, this.findUnknown());
    this.noteUndone(isDone);
    this.waitsForRuntime = memory.throttles.length > 0 && !context.model.synchronized;
    return isDone;
  }

  private async undoUnknownAgain(): Promise<void> {
    await this.executor.undoUnknownAgain(this.findUnknown());
    this.noteUndone(!this.parts.memory.owesUnknown);
  }

  private noteUndone(isDone: boolean): void {
    if (isDone) this.backOff.reset();
    this.nextUndoMs = isDone ? -Infinity : this.elapsedMs() + this.backOff.next();
  }

  /** The quotas that a lost note may have been about. Only the API server knows what they should be. Those that we have lowered since are known. */
  private findUnknown(): UnknownThrottles {
    const { context, memory, quotas, objects } = this.parts;
    if (!memory.owesUnknown) return { low: [], unknown: [] };
    const { model } = context;
    if (!model.synchronized) return { because: 'the runtime has not sent its containers yet' };
    const known = objects();
    if (known.kind === 'unknown') return known;
    if (!model.specSource.hasReported) return { because: 'the API server has not told of the pods yet' };
    const lowered = new Set(memory.throttles.map(({ id }) => id));
    const containers = listContainers(model, known.pods, new Map())
      .filter(({ id }) => !lowered.has(id))
      .map((container): ContainerState => ({ ...container, ...quotas.read(container.id) }));
    const hasPodLimit = ({ uid }: QosPod): boolean =>
      model.podSpecs.get(uid)?.podResources?.limitMilliCpu !== undefined;
    return findLowQuotas(known.pods, containers, hasPodLimit);
  }

  /** Undoes everything, and forgets how often rules have fired. `isUrgent`: what could not be undone before is tried again at once. */
  private async stop(because: string, isUrgent = this.isActing): Promise<void> {
    this.isActing = false;
    this.because = because;
    this.analysis = NOTHING_ANALYZED;
    this.findings = [];
    this.yielded = [];
    this.previewed = new Set();
    this.outOfBudget = new Set();
    this.followedMs = undefined;
    if (isUrgent) this.backOff.reset();
    if (isUrgent || this.isUndoDue) await this.undo(because);
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
      if (!this.previewed.has(`${action} ${subject}`))
        this.note({ action, subject, outcome: 'preview', because }, true);
    this.previewed = keys;
  }

  /** Tells what the budget of the hour leaves undone, once for as long as it does. */
  private noteBudget({ skipped }: AvoidancePlan): void {
    const found = (['evict', 'throttle'] as const).flatMap((action) => {
      const beyond = groupBy(
        skipped.filter(({ beyondBudget }) => beyondBudget === action),
        ({ shareOf }) => shareOf,
      );
      return [...beyond].map(([shareOf, [first, ...others]]) => ({
        ...{ action, first: first!, others: others.length },
        ...{ what: shareOf === undefined ? 'the budget' : `the share of namespace ${shareOf} in the budget` },
      }));
    });
    for (const { action, what, first, others } of found) {
      if (this.outOfBudget.has(`${action} ${what}`)) continue;
      const because = `${what} of the hour is spent${others > 0 ? `; ${others} more are left alone` : ''}`;
      this.note({ action, subject: first.subject, outcome: 'failed', because }, true);
    }
    this.outOfBudget = new Set(found.map(({ action, what }) => `${action} ${what}`));
  }

  private note({ podEvent, ...record }: ActionRecord, isNews: boolean): void {
    this.parts.count(record.action, record.outcome);
    if (podEvent) this.parts.tellPod(podEvent);
    if (!isNews) return;
    this.recent = [{ at: new Date(this.nowMs()).toISOString(), ...record }, ...this.recent].slice(0, MAX_RECENT);
    this.parts.context.events.emit('changed');
  }

  /** One after the other; a failure is a fault, and the next one is done all the same. */
  private inTurn(work: () => Promise<void>, part = 'taking QoS actions'): Promise<void> {
    const { faults } = this.parts.context;
    this.turn = this.turn.then(() => faults.containAsync(part, work));
    return this.turn;
  }
}

/** Quotas that a lost note may have lowered: a step from one of them would make it the original. */
function whyOwed({ low, unknown }: LowQuotas): readonly (readonly [string, string])[] {
  const ids = [...low.map(({ container }) => container.id), ...unknown.map(({ id }) => id)];
  return ids.map((id) => [id, 'its quota may be one that a lost record had lowered, and is not put back yet']);
}

function toRuleStatus({ key, state, actionName, because }: Finding): RuleStatus {
  return { rule: key, state, action: actionName, because };
}

/** The options when the Node has got the taint: one action less. */
function afterTaint({ actionsLeft, spentBy, ...options }: AvoidanceOptions): AvoidanceOptions {
  const { actions = 0, evictions = 0 } = spentBy.get('') ?? {};
  const spent = actionsLeft > 0 ? actions + 1 : actions;
  return {
    ...options,
    actionsLeft: Math.max(0, actionsLeft - 1),
    spentBy: new Map([...spentBy, ['', { actions: spent, evictions }]]),
  };
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
      .filter((container) => container.pause === undefined && (hasCgroup(container) || isPinned(container)))
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

/** True where cpusetd promises CPUs or a quota, or will, and where it touches nothing: no action is taken against these. */
function isPinned({ placement, leftAlone, quota, waitingSince, entitledCpus }: Container): boolean {
  const isPlain = placement === 'shared' || placement === 'left-alone';
  return !isPlain || leftAlone === true || quota !== undefined || waitingSince !== undefined || entitledCpus > 0;
}
