import { machineOf } from '../../core/topology';
import { analyze, NOTHING_ANALYZED, type Analysis, type AnalysisState } from '../../qos/analysis/analyze';
import type { AvoidanceEvent, Finding } from '../../qos/analysis/finding';
import { chargeTaint } from '../../qos/avoidance/budget';
import { listContainers, listUndecidable } from '../../qos/avoidance/list-containers';
import { refuseLow, type LowQuotas } from '../../qos/avoidance/low-quotas';
import { ordersOf } from '../../qos/avoidance/orders';
import { planAvoidance } from '../../qos/avoidance/plan-avoidance';
import type { AvoidanceOptions, AvoidanceSituation, Throttle, Yielded } from '../../qos/avoidance/situation';
import { isEnding } from '../../qos/objects/is-ending';
import { matchPod } from '../../qos/objects/match-pod';
import type { KnownObjects } from '../../qos/objects/objects-of-node';
import type { Metrics } from '../../qos/usage/metrics';
import { METRIC } from '../../qos/usage/names';
import type { DaemonContext } from '../context';
import type { ActionExecutor } from './action-executor';
import type { ActionLog } from './action-log';
import type { QosActionsNote } from './qos-actions-note';
import type { StepGate } from './step-gate';

export interface RuleRoundsParts {
  readonly context: Pick<DaemonContext, 'model'>;
  readonly note: Pick<QosActionsNote, 'throttles' | 'tainted'>;
  readonly executor: ActionExecutor;
  readonly gate: StepGate;
  readonly log: ActionLog;
  /** Writes an Event about the Node. */
  readonly writeEvent: (event: AvoidanceEvent) => void;
  /** The options of a plan now. */
  readonly options: () => AvoidanceOptions;
  /** A rule that has triggered restores after this number of rounds in a row without data. */
  readonly lostAfterRounds: number;
  /** The clock, in ms since 1970. */
  readonly nowMs: () => number;
}

/** One round: the objects, the metrics, and what rules say about them. */
export interface RuleRound {
  readonly objects: KnownObjects;
  readonly metrics: Metrics;
  readonly analysis: Analysis;
}

/** Follows rules in one round after the other: analyzes what was measured, plans, and has the plan carried out. */
export class RuleRounds {
  private state: AnalysisState = NOTHING_ANALYZED;
  private last: readonly Finding[] = [];
  /** Containers that are left to who has changed their quota. */
  private yielded: readonly Yielded[] = [];

  constructor(private readonly parts: RuleRoundsParts) {}

  /** The findings of the last round; empty while no rule is followed. */
  get findings(): readonly Finding[] {
    return this.last;
  }

  /** Rules are not followed any more: the next round begins anew. */
  forget(): void {
    this.state = NOTHING_ANALYZED;
    this.last = [];
    this.yielded = [];
    this.parts.log.forgetNotices();
  }

  /** Begins a round: analyzes the metrics, and writes the Events about the Node. */
  analyze(objects: KnownObjects, metrics: Metrics, isPreview: boolean): RuleRound {
    const { lostAfterRounds, writeEvent } = this.parts;
    const analysis = analyze(this.state, { ...objects, metrics, nowMs: this.parts.nowMs(), lostAfterRounds });
    this.state = analysis.state;
    this.last = analysis.findings;
    for (const finding of analysis.findings)
      if (finding.event) writeEvent(isPreview || finding.isPreview ? asPreview(finding.event) : finding.event);
    return { objects, metrics, analysis };
  }

  /** Records what would be done. */
  preview(round: RuleRound): void {
    this.parts.log.notePreview(planAvoidance(this.situationOf(round)), round.analysis.scheduling, true);
  }

  /**
   * Plans, and carries the plan out. `lost`: quotas that a lost note may have been about. Returns early when it is
   * interrupted.
   */
  async enforce(round: RuleRound, lost: LowQuotas): Promise<void> {
    const { context, note, executor, log, gate } = this.parts;
    const { signal } = gate;
    const undecidable = listUndecidable(note.throttles, round.objects.pods, context.model.containers);
    await executor.giveBack(undecidable, 'its pod, or cpusetd’s promise to it, has changed');
    if (signal.aborted) return;
    const kept = note.throttles.filter(({ id }) => undecidable.some((throttle) => throttle.id === id));
    const { scheduling } = round.analysis;
    const situation = this.situationOf(round, kept);
    // The taint is an action too, and comes first.
    const options = scheduling.disabled && !note.tainted ? chargeTaint(situation.options) : situation.options;
    const refusedThrottles = new Map([...executor.refusedThrottles, ...refuseLow(lost)]);
    const plan = planAvoidance({ ...situation, refusedThrottles, options });
    await executor.followScheduling(scheduling, situation.options.actionsLeft);
    if (signal.aborted) return;
    this.yielded = plan.yielded;
    log.notePreview(plan, scheduling, false);
    log.noteBudget(plan);
    await executor.carryOut(plan, kept);
  }

  private situationOf({ objects, metrics, analysis }: RuleRound, kept: readonly Throttle[] = []): AvoidanceSituation {
    const { context, note, executor, options } = this.parts;
    const { model } = context;
    const nowMs = this.parts.nowMs();
    const pods = objects.pods.map((pod) => ({
      ...pod,
      isBeingDeleted: executor.isLeaving(pod.uid) || isEnding(pod, nowMs),
    }));
    const [totalMemory] = metrics.get(METRIC.memoryTotal) ?? [];
    return {
      ...ordersOf(analysis.findings),
      pods,
      podQoses: objects.podQoss,
      podMatches: matchPod,
      containers: listContainers(model, pods, metrics),
      cores: machineOf(model.topology).online.size,
      ...(totalMemory && { totalMemoryBytes: totalMemory.value }),
      metrics,
      throttles: note.throttles.filter((throttle) => !kept.includes(throttle)),
      yielded: this.yielded,
      refusedEvictions: executor.refusedEvictions,
      refusedThrottles: executor.refusedThrottles,
      options: options(),
      nowMs,
    };
  }
}

function asPreview(event: AvoidanceEvent): AvoidanceEvent {
  return { ...event, message: `${event.message} (preview: nothing is done)` };
}
