import type { SchedulingDecision } from '../../qos/analysis/scheduling';
import type { UnknownThrottles } from '../../qos/avoidance/low-quotas';
import type { AvoidancePlan } from '../../qos/avoidance/plan';
import type { Throttle } from '../../qos/avoidance/situation';
import type { DaemonContext } from '../context';
import { NodeTaint, type Disabled, type TaintedNode } from './node-taint';
import { PodEvictions, type Evictor } from './pod-evictions';
import { QuotaSteps } from './quota-steps';
import type { QuotaWriter } from './quota-writer';
import { SaveGuard } from './save-guard';
import type { StepParts } from './step-parts';

/** The Node in the API server, and the pods on it. */
export interface NodeActions extends TaintedNode, Evictor {}

export interface ActionExecutorParts extends Omit<StepParts, 'saves'> {
  readonly context: Pick<DaemonContext, 'alarms' | 'model'>;
  readonly quotas: Pick<QuotaWriter, 'write' | 'read'>;
  readonly node: NodeActions;
}

/**
 * Carries actions out, and undoes them. What has to be undone is durable before it is done: when it can't be saved, it
 * is not done. The calls of one executor must not overlap, and none rejects.
 */
export class ActionExecutor {
  private readonly saves: SaveGuard;
  private readonly taint: NodeTaint;
  private readonly evictions: PodEvictions;
  private readonly quotas: QuotaSteps;

  constructor(private readonly parts: ActionExecutorParts) {
    const { context, quotas, ...rest } = parts;
    const saves = (this.saves = new SaveGuard(context.alarms, parts.note));
    this.taint = new NodeTaint({ ...rest, saves });
    this.evictions = new PodEvictions({ ...rest, saves });
    this.quotas = new QuotaSteps({ ...rest, quotas, saves });
  }

  /** Takes up what the note has of earlier processes. */
  takeUp(): void {
    this.taint.takeUp();
  }

  /** The reason for the taint, and the time since which the Node has it; undefined while it has none. */
  get schedulingDisabled(): Disabled | undefined {
    return this.taint.disabled;
  }

  /** Pods that are not evicted now, and why; by uid. */
  get refusedEvictions(): ReadonlyMap<string, string> {
    return this.evictions.refused;
  }

  /** Containers that are not throttled now, and why; by id. */
  get refusedThrottles(): ReadonlyMap<string, string> {
    return this.quotas.refused;
  }

  /** True for a pod that was evicted a moment ago: there may be no news of its deletion yet. */
  isLeaving(podUid: string): boolean {
    return this.evictions.isLeaving(podUid);
  }

  /** Keeps new pods away, or lets them come again. Returns early when it is interrupted. */
  async followScheduling(decision: SchedulingDecision, actionsLeft: number): Promise<void> {
    this.saves.begin();
    await this.parts.gate.orInterrupted(this.taint.follow(decision, actionsLeft));
  }

  /** Evicts, lowers quotas, then raises them. `kept`: throttles that the plan is not about. */
  async carryOut(plan: AvoidancePlan, kept: readonly Throttle[] = []): Promise<void> {
    const { gate } = this.parts;
    for (const step of plan.evictions) if (gate.mayAct) await this.evictions.evict(step);
    if (!gate.mayAct) return;
    await this.quotas.carryOut(plan, kept);
    this.showProblems();
  }

  /** Gives the quotas of these back at once. What fails stays noted. */
  async giveBack(throttles: readonly Throttle[], because: string): Promise<void> {
    await this.quotas.undo(throttles, because);
  }

  /**
   * Undoes everything that is in force. What can't be undone now stays noted; returns true when nothing is left.
   *
   * Before the runtime has listed its containers nothing is known to be gone, so no quota is touched. `unknown`: what
   * is undone for a record that is lost.
   */
  async undo(because: string, unknown: UnknownThrottles): Promise<boolean> {
    const { note, context } = this.parts;
    this.saves.begin();
    if (note.isInForce)
      await Promise.all([
        context.model.synchronized ? this.quotas.undo(note.throttles, because) : undefined,
        note.owesUnknown ? this.quotas.undoLost(unknown) : undefined,
        this.taint.remove(because),
      ]);
    this.showProblems();
    return !note.isInForce;
  }

  /** Tries again to undo what a lost record may have listed, while rules are followed. */
  async undoUnknownAgain(unknown: UnknownThrottles): Promise<void> {
    await this.quotas.undoLost(unknown);
    this.showProblems();
  }

  /** The reasons for which something can't be undone now; empty = there are none. */
  get whyNotUndone(): string {
    const { quotas, taint } = this;
    const reasons = [quotas.whyNotPutBack, taint.whyNotRemoved, quotas.whyLostNotPutBack];
    return reasons.filter((text) => text !== undefined).join('; ');
  }

  /** One alarm for all that can't be undone now, and the end of one when all could be saved. */
  private showProblems(): void {
    this.saves.end();
    const { whyNotUndone: problems } = this;
    const because = problems === '' ? undefined : `${problems}; this is tried again`;
    this.parts.context.alarms.update('qos-actions', 'undo', because);
  }
}
