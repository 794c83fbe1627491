import type { QosActionName, QosOutcome } from '../../admin/metrics/qos-metrics';
import { systemCodeOf } from '../../core/system-errors';
import { plural } from '../../core/text';
import type { SchedulingDecision } from '../../qos/analysis/scheduling';
import type { AvoidancePlan, EvictionStep, StepPod, ThrottleStep } from '../../qos/avoidance/plan';
import type { LowQuotas } from '../../qos/avoidance/own-throttles';
import { eventOfEviction, eventOfStep, type PodActionEvent } from '../../qos/avoidance/pod-event';
import { planUndoAll } from '../../qos/avoidance/plan-restores';
import { formatQuota } from '../../qos/avoidance/round';
import { isSameQuota, plainQuota } from '../../qos/avoidance/quota';
import type { Throttle } from '../../qos/avoidance/situation';
import { explainFsError } from '../../state';
import type { DaemonContext } from '../context';
import type { ActionMemory } from './action-memory';
import { messageOf, type QuotaOutcome, type QuotaWriter } from './quota-writer';

export type EvictionOutcome =
  | { readonly kind: 'evicted' }
  | { readonly kind: 'gone' }
  /** It was surely not carried out, such as by a PodDisruptionBudget that does not allow it now. */
  | { readonly kind: 'refused'; readonly because: string };

/** The Node in the API server. Each call rejects when the API server did not take it. */
export interface NodeMark {
  /** True when the Node has the taint, as the API server told last; undefined while it is not known. */
  readonly isMarked?: () => boolean | undefined;
  /** Sets or removes the taint and the condition that keep new pods away. */
  mark(isDisabled: boolean, because: string): Promise<void>;
  evict(pod: StepPod, graceSeconds: number | undefined): Promise<EvictionOutcome>;
}

/** The quotas that a lost record may have listed, or the reason why they are not known yet. */
export type UnknownThrottles = LowQuotas | { readonly because: string };

export interface ActionRecord {
  readonly action: QosActionName;
  /** The node, or namespace/pod/container. */
  readonly subject: string;
  readonly outcome: QosOutcome;
  readonly because: string;
  /** Tells the owner of the pod that it hits. */
  readonly podEvent?: PodActionEvent;
}

export interface ActionExecutorParts {
  readonly context: Pick<DaemonContext, 'alarms' | 'log' | 'model'>;
  readonly memory: ActionMemory;
  readonly quotas: Pick<QuotaWriter, 'write' | 'read'>;
  readonly node: NodeMark;
  /** Something was done, or failed. `isNews`: false for a failure that repeats the last one of the same subject. */
  readonly record: (record: ActionRecord, isNews: boolean) => void;
  /** Aborted when no further action may begin: everything is undone next. */
  readonly interrupted: () => AbortSignal;
  /** The clock, in ms since 1970. */
  readonly nowMs: () => number;
  /** A clock that nobody sets, in ms. */
  readonly elapsedMs: () => number;
}

/** Left alone until this time of the clock that nobody sets. */
interface Tried {
  readonly untilMs: number;
  readonly because?: string;
}

type QuotaStep = Pick<ThrottleStep, 'pod' | 'container' | 'id' | 'fromUs' | 'toUs' | 'periodUs' | 'because'>;

/** Quotas that are put back at the same time. */
const AT_ONCE = 8;
/**
 * A pod whose eviction was tried is left alone for so long: others have their turn, and news of it come. So is a container whose throttle has failed,
 * and a Node that was tainted.
 */
const LEFT_ALONE_MS = 60_000;
/** Failures that are kept in mind, so that each is told once. */
const MAX_FAILURES = 2_000;

/**
 * Carries actions out, and undoes them. What has to be undone is durable before it is done: when it can't be saved, it is not done. The calls
 * of one executor must not overlap.
 */
export class ActionExecutor {
  /** The Node has the taint, as far as is known. */
  private marked: { readonly because: string; readonly sinceMs: number } | undefined;
  /** Time of the last write of the taint, of the clock that nobody sets. */
  private markedAtMs = -Infinity;
  /** Changes of the Node, one after the other. */
  private marking: Promise<void> = Promise.resolve();
  /** The last failure of each action and subject. */
  private readonly failures = new Map<string, string>();
  /** The reasons for which something can't be undone now. */
  private readonly problems: { quotas?: string; taint?: string; lost?: string } = {};
  /** Pods whose eviction was tried, by uid. `because`: it was refused or has failed; absent = it ends. */
  private readonly tried = new Map<string, Tried>();
  /** Containers whose throttle has failed, by id. */
  private readonly failed = new Map<string, Tried>();
  /** Something could not be saved since the round, or the undoing, began. */
  private hasSaveFailed = false;
  private isClosed = false;

  constructor(private readonly parts: ActionExecutorParts) {}

  /** Takes up what the memory has of earlier processes. */
  takeUp(): void {
    if (this.parts.memory.tainted)
      this.marked = { because: 'an earlier process of cpusetd has set the taint', sinceMs: this.parts.nowMs() };
  }

  /** The reason for the taint, and the time since which the Node has it; undefined while it has none. */
  get schedulingDisabled(): { readonly because: string; readonly sinceMs: number } | undefined {
    return this.parts.memory.tainted ? this.marked : undefined;
  }

  /** Pods that are not evicted now, and why; by uid. */
  get refusedEvictions(): ReadonlyMap<string, string> {
    return this.reasonsOf(this.tried);
  }

  /** Containers that are not throttled now, and why; by id. */
  get refusedThrottles(): ReadonlyMap<string, string> {
    return this.reasonsOf(this.failed);
  }

  /** True for a pod that was evicted a moment ago: the API server may not have told of its deletion yet. */
  isLeaving(podUid: string): boolean {
    const tried = this.stillTrue(this.tried).get(podUid);
    return tried !== undefined && tried.because === undefined;
  }

  /** No step begins any more. */
  close(): void {
    this.isClosed = true;
  }

  /** Keeps new pods away, or lets them come again. Returns early when it is interrupted. Never rejects. */
  async followScheduling({ disabled, because }: SchedulingDecision, actionsLeft: number): Promise<void> {
    this.hasSaveFailed = false;
    const change = () => (disabled ? this.mark(because, actionsLeft) : this.unmark(because));
    await this.orInterrupted(this.inTurn(change));
  }

  /**
   * Evicts, lowers quotas, then raises them. What fails is planned anew in the next round, by what the kernel has then. Never rejects.
   * `kept`: throttles that the plan is not about.
   */
  async carryOut(plan: AvoidancePlan, kept: readonly Throttle[] = []): Promise<void> {
    for (const step of plan.evictions) if (this.mayAct) await this.evict(step);
    if (!this.mayAct) return;
    const { memory } = this.parts;
    const atMs = this.parts.nowMs();
    const { throttles, restores, throttled, settled } = this.compareWithKernel(plan, kept);
    const originals = new Map(memory.throttles.map(({ id, originalUs }) => [id, originalUs]));
    const isSaved = this.save(() =>
      memory.saveThrottles(throttled, { namespaces: throttles.map(({ pod }) => pod.namespace), nowMs: atMs }),
    );
    // An original needs no record: what follows finds that it is there.
    const back = isSaved ? restores : restores.filter(({ id, toUs }) => toUs === originals.get(id));
    if (isSaved) {
      for (const { subject, because } of plan.ended)
        if (!settled.has(subject)) this.note('restore', subject, 'done', because);
      await this.writeThrottles(throttles, atMs);
    }
    await forEach(back, async (step) => {
      if (this.mayAct) await this.writeQuota(step, 'restore');
    });
    this.showProblems();
  }

  /** Gives the quotas of these back at once. What fails stays remembered. */
  async giveBack(throttles: readonly Throttle[], because: string): Promise<void> {
    await this.undoThrottles(throttles, because);
  }

  /**
   * Undoes everything that is in force. What can't be undone now stays remembered; returns whether nothing is left. Never rejects.
   *
   * Before the runtime has told of its containers nothing is known to be gone, so no quota is touched. `unknown`: what is undone for a record
   * that is lost.
   */
  async undo(because: string, unknown: UnknownThrottles): Promise<boolean> {
    const { memory, context } = this.parts;
    this.hasSaveFailed = false;
    if (memory.isInForce)
      await Promise.all([
        context.model.synchronized ? this.undoThrottles(memory.throttles, because) : undefined,
        memory.owesUnknown ? this.undoUnknown(unknown) : undefined,
        this.inTurn(() => this.unmark(because)),
      ]);
    this.showProblems();
    return !memory.isInForce;
  }

  /** Tries again to undo what a lost record may have listed, while rules are followed. Never rejects. */
  async undoUnknownAgain(unknown: UnknownThrottles): Promise<void> {
    await this.undoUnknown(unknown);
    this.showProblems();
  }

  /** The reasons for which something can't be undone now; empty = there are none. */
  get whyNotUndone(): string {
    const { quotas, taint, lost } = this.problems;
    return [quotas, taint, lost].filter((text) => text !== undefined).join('; ');
  }

  private get mayAct(): boolean {
    return !this.isClosed && !this.parts.interrupted().aborted;
  }

  private async mark(because: string, actionsLeft: number): Promise<void> {
    const { memory, node, nowMs, elapsedMs } = this.parts;
    if (!this.mayAct) return;
    delete this.problems.taint;
    if (memory.tainted && this.marked && !this.isMarkLost) return;
    if (!memory.tainted) {
      if (actionsLeft < 1) {
        this.note('disable-scheduling', 'node', 'failed', 'the budget of the hour is spent');
        return;
      }
      if (!this.save(() => memory.saveTaint(true, { namespaces: [''], nowMs: nowMs() }))) return;
    }
    try {
      await node.mark(true, because);
      this.markedAtMs = elapsedMs();
      this.note('disable-scheduling', 'node', 'done', this.marked ? `someone else removed it: ${because}` : because);
      this.marked ??= { because, sinceMs: nowMs() };
    } catch (error) {
      this.note('disable-scheduling', 'node', 'failed', messageOf(error));
    }
  }

  /** Someone else removed the taint. News of the Node may be late, and two programs must not fight: it is set again once a minute at most. */
  private get isMarkLost(): boolean {
    const { node, elapsedMs } = this.parts;
    return node.isMarked?.() === false && elapsedMs() - this.markedAtMs >= LEFT_ALONE_MS;
  }

  private async unmark(because: string): Promise<void> {
    const { memory, node } = this.parts;
    delete this.problems.taint;
    if (!memory.tainted || this.isClosed) return;
    try {
      await node.mark(false, because);
    } catch (error) {
      this.problems.taint = `the taint of the Node can't be removed: ${messageOf(error)}`;
      this.note('enable-scheduling', 'node', 'failed', messageOf(error));
      return;
    }
    this.marked = undefined;
    if (this.save(() => memory.saveTaint(false, { namespaces: [], nowMs: this.parts.nowMs() })))
      this.note('enable-scheduling', 'node', 'done', because);
  }

  private async undoThrottles(throttles: readonly Throttle[], because: string): Promise<void> {
    const { memory, nowMs } = this.parts;
    delete this.problems.quotas;
    if (throttles.length === 0) return;
    const byId = new Map(throttles.map((throttle) => [throttle.id, throttle]));
    const undone = new Set<string>();
    const ended: (readonly [string, string])[] = [];
    let lastProblem = '';
    await forEach(planUndoAll(throttles).restores, async (step) => {
      if (this.isClosed) return;
      const other = this.whyNotOurs(byId.get(step.id)!);
      if (other !== undefined) {
        ended.push([subjectOf(step), other]);
        undone.add(step.id);
        return;
      }
      const outcome = await this.writeQuota({ ...step, because: `${step.because}, since ${because}` }, 'restore');
      if (outcome.kind === 'failed') lastProblem = outcome.because;
      else undone.add(step.id);
    });
    const left = memory.throttles.filter(({ id }) => !undone.has(id));
    if (this.save(() => memory.saveThrottles(left, { namespaces: [], nowMs: nowMs() })))
      for (const [subject, why] of ended) this.note('restore', subject, 'done', why);
    const failed = throttles.length - undone.size;
    if (failed > 0)
      this.problems.quotas = `the CFS quotas of ${plural(failed, 'container')} can't be put back: ${lastProblem}`;
  }

  /** Gives containers the quotas of their specs, in place of the originals that a lost record had. */
  private async undoUnknown(unknown: UnknownThrottles): Promise<void> {
    const { memory, nowMs } = this.parts;
    delete this.problems.lost;
    let problem = 'because' in unknown ? unknown.because : whyUnknown(unknown);
    if (!('because' in unknown))
      await forEach(unknown.low, async ({ pod, container, fromUs, toUs, periodUs }) => {
        if (this.isClosed) return;
        const because = `it was lower than its spec says, and what cpusetd has throttled is not known: from ${formatQuota(fromUs)} to ${formatQuota(toUs)}`;
        const step = { pod, container: container.name, id: container.id, fromUs, toUs, periodUs, because };
        const outcome = await this.writeQuota(step, 'restore');
        if (outcome.kind === 'failed') problem = outcome.because;
      });
    if (problem === '' && !this.isClosed) this.save(() => memory.saveUnknownUndone(nowMs()));
    else this.problems.lost = `CFS quotas of a lost record can't be put back: ${problem}`;
  }

  /**
   * Leaves out steps from a quota that the kernel does not have any more: the plan is based on a reading, and someone may have changed it since. A
   * throttle that the plan takes for ended stays remembered while the kernel has it.
   */
  private compareWithKernel(plan: AvoidancePlan, kept: readonly Throttle[]) {
    const { memory, quotas } = this.parts;
    const before = new Map(memory.throttles.map((throttle) => [throttle.id, throttle]));
    const outdated = new Set<string>();
    const isCurrent = ({ id, fromUs, periodUs }: ThrottleStep): boolean => {
      const now = quotas.read(id);
      if (now === undefined || isSameQuota(plainQuota(now.quotaUs), fromUs, periodUs)) return true;
      outdated.add(id);
      return false;
    };
    const throttles = plan.throttles.filter(isCurrent);
    const restores = plan.restores.filter(isCurrent);
    const planned = plan.throttled.flatMap((throttle) =>
      outdated.has(throttle.id) ? (before.get(throttle.id) ?? []) : throttle,
    );
    const known = new Set([...planned, ...kept].map(({ id }) => id));
    const stillThere = memory.throttles.filter((one) => !known.has(one.id) && this.isInKernel(one));
    const throttled = [...planned, ...kept, ...stillThere];
    return {
      ...{ throttles, restores, throttled },
      // These do not end, or a step has told of their end.
      settled: new Set([...throttled, ...memory.throttles.filter((one) => this.hasOriginal(one))].map(nameOf)),
    };
  }

  private isInKernel(throttle: Throttle): boolean {
    return this.parts.quotas.read(throttle.id) !== undefined && this.whyNotOurs(throttle) === undefined;
  }

  private hasQuotaOfBefore({ id, fromUs, periodUs }: ThrottleStep): boolean {
    const now = this.parts.quotas.read(id);
    return now?.periodUs === periodUs && isSameQuota(plainQuota(now.quotaUs), fromUs, periodUs);
  }

  private hasOriginal({ id, originalUs, periodUs }: Throttle): boolean {
    const now = this.parts.quotas.read(id);
    return now?.periodUs === periodUs && isSameQuota(plainQuota(now.quotaUs), originalUs, periodUs);
  }

  /** An in-place resize has replaced the quota: putting back what was before it would be wrong. */
  private whyNotOurs(throttle: Throttle): string | undefined {
    const { id, quotaUs, previousUs, periodUs } = throttle;
    const now = this.parts.quotas.read(id);
    if (now === undefined) return undefined;
    const isNow = (us: number): boolean => isSameQuota(plainQuota(now.quotaUs), us, periodUs);
    if (now.periodUs !== periodUs) return 'someone else changed its period';
    if (this.hasOriginal(throttle)) return 'it has its original quota already';
    return isNow(quotaUs) || isNow(previousUs) ? undefined : 'someone else changed its quota';
  }

  private async evict(step: EvictionStep): Promise<void> {
    const { pod, graceSeconds, because } = step;
    const { memory, node, nowMs } = this.parts;
    const subject = `${pod.namespace}/${pod.name}`;
    const atMs = nowMs();
    if (!this.save(() => memory.saveEviction(pod.namespace, atMs))) return;
    try {
      const outcome = await this.orInterrupted(node.evict(pod, graceSeconds));
      // The API server may take it: it stays counted.
      if (outcome === undefined) {
        this.note('evict', subject, 'failed', 'it was interrupted');
        return;
      }
      this.noteTried(pod.uid, outcome.kind === 'refused' ? outcome.because : undefined);
      if (outcome.kind === 'evicted') {
        this.note('evict', subject, 'done', because, eventOfEviction(step));
        return;
      }
      this.save(() => memory.giveBackEviction(pod.namespace, atMs));
      if (outcome.kind === 'refused') this.note('evict', subject, 'failed', outcome.because);
    } catch (error) {
      // The API server may have taken it: it stays counted.
      this.noteTried(pod.uid, messageOf(error));
      this.note('evict', subject, 'failed', messageOf(error));
    }
  }

  private noteTried(podUid: string, because: string | undefined): void {
    const untilMs = this.parts.elapsedMs() + LEFT_ALONE_MS;
    this.tried.set(podUid, { untilMs, ...(because !== undefined && { because: `its last eviction: ${because}` }) });
  }

  private stillTrue(tried: Map<string, Tried>): ReadonlyMap<string, Tried> {
    for (const [key, { untilMs }] of tried) if (this.parts.elapsedMs() >= untilMs) tried.delete(key);
    return tried;
  }

  private reasonsOf(tried: Map<string, Tried>): ReadonlyMap<string, string> {
    return new Map(
      [...this.stillTrue(tried)].flatMap(([key, { because }]) => (because === undefined ? [] : [[key, because]])),
    );
  }

  /** A step that has surely failed costs no budget. `atMs`: the time at which all of them were counted. */
  private async writeThrottles(steps: readonly ThrottleStep[], atMs: number): Promise<void> {
    const unspent: string[] = [];
    for (const step of steps) {
      if (!this.mayAct) break;
      const outcome = await this.writeQuota(step, 'throttle');
      if (outcome.kind === 'failed' && this.hasQuotaOfBefore(step)) unspent.push(step.pod.namespace);
    }
    if (unspent.length > 0 && !this.isClosed) this.save(() => this.parts.memory.giveBackActions(unspent, atMs));
  }

  private async writeQuota(step: QuotaStep, action: 'throttle' | 'restore'): Promise<QuotaOutcome> {
    const { id, toUs, periodUs, because } = step;
    const { memory, quotas } = this.parts;
    const originalUs = memory.throttles.find((throttle) => throttle.id === id)?.originalUs;
    const outcome = await quotas.write(id, toUs, periodUs);
    if (outcome.kind === 'done')
      this.note(action, subjectOf(step), 'done', because, eventOfStep(action, step, originalUs));
    if (outcome.kind !== 'failed') return outcome;
    this.note(action, subjectOf(step), 'failed', outcome.because);
    const untilMs = this.parts.elapsedMs() + LEFT_ALONE_MS;
    if (action === 'throttle') this.failed.set(id, { untilMs, because: `its last throttle: ${outcome.because}` });
    return outcome;
  }

  /** One alarm for all that can't be undone now, and the end of one when all could be saved. */
  private showProblems(): void {
    if (!this.hasSaveFailed) this.parts.context.alarms.clear('qos-actions', 'save');
    const { whyNotUndone: problems } = this;
    const because = problems === '' ? undefined : `${problems}; this is tried again`;
    this.parts.context.alarms.update('qos-actions', 'undo', because);
  }

  /** False when it can't be made durable: nothing is done then. */
  private save(change: () => void): boolean {
    const { memory, context } = this.parts;
    try {
      change();
    } catch (error) {
      if (systemCodeOf(error) === undefined) throw error;
      this.hasSaveFailed = true;
      context.alarms.update('qos-actions', 'save', explainFsError('save QoS actions in', memory.path, error));
      return false;
    }
    return true;
  }

  private inTurn(change: () => Promise<void>): Promise<void> {
    const changing = this.marking.then(change);
    this.marking = changing.catch(() => undefined);
    return changing;
  }

  /** The result; undefined when no action may begin any more before it is there. */
  private orInterrupted<T>(work: Promise<T>): Promise<T | undefined> {
    const signal = this.parts.interrupted();
    work.catch(() => undefined);
    if (signal.aborted) return Promise.resolve(undefined);
    return new Promise((resolve, reject) => {
      const interrupt = (): void => resolve(undefined);
      signal.addEventListener('abort', interrupt, { once: true });
      work.then(resolve, reject).finally(() => signal.removeEventListener('abort', interrupt));
    });
  }

  /** Tells it. A failure that repeats the last one of its subject is only counted. */
  private note(
    action: QosActionName,
    subject: string,
    outcome: 'done' | 'failed',
    because: string,
    podEvent?: PodActionEvent,
  ): void {
    const key = `${action} ${subject}`;
    const isNews = outcome === 'done' || this.failures.get(key) !== because;
    this.failures.delete(key);
    if (outcome === 'failed') this.failures.set(key, because);
    const [oldest] = this.failures.size > MAX_FAILURES ? this.failures.keys() : [];
    if (oldest !== undefined) this.failures.delete(oldest);
    const { context, record } = this.parts;
    if (isNews)
      context.log[outcome === 'done' ? 'info' : 'warn']({ action, subject, because }, `QoS action ${outcome}`);
    record({ action, subject, outcome, because, ...(podEvent && { podEvent }) }, isNews);
  }
}

function nameOf({ namespace, pod, container }: Throttle): string {
  return `${namespace}/${pod}/${container}`;
}

function subjectOf({ pod, container }: QuotaStep): string {
  return `${pod.namespace}/${pod.name}/${container}`;
}

/** Works on all items, some of them at the same time. */
async function forEach<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values();
  const drain = async (): Promise<void> => {
    for (const item of queue) await work(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, drain));
}

function whyUnknown({ unknown: [first, ...others] }: LowQuotas): string {
  if (first === undefined) return '';
  return `${first.subject}: ${first.because}${others.length > 0 ? `, and ${others.length} more` : ''}`;
}
