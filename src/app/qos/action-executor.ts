import type { QosActionName, QosOutcome } from '../../admin/metrics/qos-metrics';
import { systemCodeOf } from '../../core/system-errors';
import type { SchedulingDecision } from '../../qos/analysis/scheduling';
import type { AvoidancePlan, EvictionStep, StepPod, ThrottleStep } from '../../qos/avoidance/plan';
import { planUndoAll } from '../../qos/avoidance/plan-restores';
import { isSameQuota } from '../../qos/avoidance/quota';
import type { Throttle } from '../../qos/avoidance/situation';
import { explainFsError } from '../../state';
import type { DaemonContext } from '../context';
import { messageOf } from '../alarms/faults';
import type { ActionMemory } from './action-memory';
import type { QuotaOutcome, QuotaWriter } from './quota-writer';

export type EvictionOutcome =
  | { readonly kind: 'evicted' }
  | { readonly kind: 'gone' }
  /** A PodDisruptionBudget does not allow it now. */
  | { readonly kind: 'refused'; readonly because: string };

/** The Node in the API server. Each call rejects when the API server did not take it. */
export interface NodeMark {
  /** Sets or removes the taint and the condition that keep new pods away. */
  mark(isDisabled: boolean, because: string): Promise<void>;
  evict(pod: StepPod, graceSeconds: number | undefined): Promise<EvictionOutcome>;
}

export interface ActionRecord {
  readonly action: QosActionName;
  /** The node, or namespace/pod/container. */
  readonly subject: string;
  readonly outcome: QosOutcome;
  readonly because: string;
}

export interface ActionExecutorParts {
  readonly context: Pick<DaemonContext, 'alarms' | 'log' | 'model'>;
  readonly memory: ActionMemory;
  readonly quotas: Pick<QuotaWriter, 'write' | 'read'>;
  readonly node: NodeMark;
  /** Something was done, or failed. */
  readonly record: (record: ActionRecord) => void;
  /** The clock, in ms since 1970. */
  readonly nowMs: () => number;
}

/**
 * Carries actions out, and undoes them. What has to be undone is durable before it is done: when it can't be saved, it is not done. The calls
 * of one executor must not overlap.
 */
export class ActionExecutor {
  /** The Node has the taint, as this process has seen. */
  private isMarked = false;

  constructor(private readonly parts: ActionExecutorParts) {}

  /** Keeps new pods away, or lets them come again. Never rejects. */
  async followScheduling({ disabled, because }: SchedulingDecision, actionsLeft: number): Promise<void> {
    const { memory } = this.parts;
    if (!disabled) return void (await this.unmark(because));
    if (memory.tainted && this.isMarked) return;
    if (!memory.tainted) {
      if (actionsLeft < 1) return this.note('disable-scheduling', 'node', 'failed', 'the budget of the hour is spent');
      if (!this.save(() => memory.saveTaint(true, { actions: 1, nowMs: this.parts.nowMs() }))) return;
    }
    try {
      await this.parts.node.mark(true, because);
      this.isMarked = true;
      this.note('disable-scheduling', 'node', 'done', because);
    } catch (error) {
      this.note('disable-scheduling', 'node', 'failed', `${because}; ${messageOf(error)}`);
    }
  }

  /** Evicts, lowers quotas, then raises them. What fails is planned anew in the next round, by what the kernel has then. Never rejects. */
  async carryOut(plan: AvoidancePlan): Promise<void> {
    for (const step of plan.evictions) await this.evict(step);
    const { memory, nowMs } = this.parts;
    const spent = { actions: plan.throttles.length, nowMs: nowMs() };
    if (!this.save(() => memory.saveThrottles(plan.throttled, spent))) return;
    for (const step of plan.throttles) await this.writeQuota(step, 'throttle');
    for (const step of plan.restores) await this.writeQuota(step, 'restore');
  }

  /**
   * Undoes everything that is in force. What can't be undone now stays remembered; returns whether nothing is left. Never rejects.
   *
   * Before the runtime has told of its containers nothing is known to be gone, so no quota is touched.
   */
  async undo(because: string): Promise<boolean> {
    const { memory, context } = this.parts;
    if (!memory.isInForce) return true;
    if (context.model.synchronized) await this.undoThrottles(because);
    await this.unmark(because);
    if (!memory.isInForce) context.alarms.clear('qos-actions', 'undo');
    return !memory.isInForce;
  }

  private async undoThrottles(because: string): Promise<void> {
    const { memory, context } = this.parts;
    const { throttles } = memory;
    if (throttles.length === 0) return;
    const failed: Throttle[] = [];
    let lastProblem = '';
    for (const step of planUndoAll(throttles).restores) {
      const throttle = throttles.find(({ id }) => id === step.id)!;
      if (this.isChangedByOthers(throttle)) continue;
      const outcome = await this.writeQuota({ ...step, because: `${step.because}, since ${because}` }, 'restore');
      if (outcome.kind !== 'failed') continue;
      failed.push(throttle);
      lastProblem = outcome.because;
    }
    this.save(() => memory.saveThrottles(failed, { actions: 0, nowMs: this.parts.nowMs() }));
    if (failed.length > 0)
      context.alarms.update(
        'qos-actions',
        'undo',
        `the CFS quotas of ${failed.length} containers can't be put back, and this is tried again: ${lastProblem}`,
      );
  }

  /** An in-place resize has replaced the quota: putting back what was before it would be wrong. */
  private isChangedByOthers({ id, quotaUs, previousUs, originalUs, periodUs, ...names }: Throttle): boolean {
    const now = this.parts.quotas.read(id);
    if (now === undefined || [quotaUs, previousUs].some((us) => isSameQuota(now, us, periodUs))) return false;
    const subject = `${names.namespace}/${names.pod}/${names.container}`;
    const because = isSameQuota(now, originalUs, periodUs)
      ? 'it has its original quota already'
      : 'someone else changed its quota';
    this.note('restore', subject, 'done', because);
    return true;
  }

  private async unmark(because: string): Promise<void> {
    const { memory, node, context } = this.parts;
    if (!memory.tainted) return;
    try {
      await node.mark(false, because);
    } catch (error) {
      context.alarms.update(
        'qos-actions',
        'undo',
        `the taint of the Node can't be removed, and this is tried again: ${messageOf(error)}`,
      );
      return this.note('enable-scheduling', 'node', 'failed', messageOf(error));
    }
    this.isMarked = false;
    this.save(() => memory.saveTaint(false, { actions: 0, nowMs: this.parts.nowMs() }));
    this.note('enable-scheduling', 'node', 'done', because);
  }

  private async evict({ pod, graceSeconds, because }: EvictionStep): Promise<void> {
    const { memory, node, nowMs } = this.parts;
    const subject = `${pod.namespace}/${pod.name}`;
    const atMs = nowMs();
    if (!this.save(() => memory.saveEviction(atMs))) return;
    try {
      const outcome = await node.evict(pod, graceSeconds);
      if (outcome.kind === 'evicted') return this.note('evict', subject, 'done', because);
      this.save(() => memory.giveBackEviction(atMs));
      if (outcome.kind === 'refused') this.note('evict', subject, 'failed', outcome.because);
    } catch (error) {
      // The API server may have taken it: it stays counted.
      this.note('evict', subject, 'failed', messageOf(error));
    }
  }

  private async writeQuota(step: ThrottleStep, action: 'throttle' | 'restore'): Promise<QuotaOutcome> {
    const { pod, container, id, toUs, periodUs, because } = step;
    const subject = `${pod.namespace}/${pod.name}/${container}`;
    const outcome = await this.parts.quotas.write(id, toUs, periodUs);
    if (outcome.kind === 'done') this.note(action, subject, 'done', because);
    if (outcome.kind === 'failed') this.note(action, subject, 'failed', outcome.because);
    return outcome;
  }

  /** False when it can't be made durable: nothing is done then. */
  private save(change: () => void): boolean {
    const { memory, context } = this.parts;
    try {
      change();
    } catch (error) {
      if (systemCodeOf(error) === undefined) throw error;
      context.alarms.update('qos-actions', 'save', explainFsError('save QoS actions in', memory.path, error));
      return false;
    }
    context.alarms.clear('qos-actions', 'save');
    return true;
  }

  private note(action: QosActionName, subject: string, outcome: 'done' | 'failed', because: string): void {
    this.parts.context.log[outcome === 'done' ? 'info' : 'warn']({ action, subject, because }, `QoS action ${outcome}`);
    this.parts.record({ action, subject, outcome, because });
  }
}
