import { plural } from '../../core/text';
import { compareWithKernel, hasQuotaOfBefore, whyNotOurs } from '../../qos/avoidance/compare-kernel';
import { whyUnknown, type UnknownThrottles } from '../../qos/avoidance/low-quotas';
import type { AvoidancePlan, ThrottleStep } from '../../qos/avoidance/plan';
import { planUndoAll } from '../../qos/avoidance/plan-restores';
import { eventOfStep } from '../../qos/avoidance/pod-event';
import { formatQuota } from '../../qos/avoidance/round';
import type { Throttle } from '../../qos/avoidance/situation';
import { LeftAlone } from './left-alone';
import type { CpuQuota, QuotaOutcome, QuotaWriter } from './quota-writer';
import type { StepParts } from './step-parts';

export interface QuotaStepsParts extends StepParts {
  readonly quotas: Pick<QuotaWriter, 'write' | 'read'>;
}

type QuotaStep = Pick<ThrottleStep, 'pod' | 'container' | 'id' | 'fromUs' | 'toUs' | 'periodUs' | 'because'>;

/** Quotas that are put back at the same time. */
const AT_ONCE = 8;

/**
 * Lowers CFS quotas, and puts them back. Throttles are in the note before a quota is written, and leave it after the
 * quota is back.
 */
export class QuotaSteps {
  /** Containers whose throttle has failed, by id. */
  private readonly leftAlone: LeftAlone;
  /** The reasons for which quotas can't be put back now: those of known throttles, and those of a lost record. */
  private problem: string | undefined;
  private lostProblem: string | undefined;

  constructor(private readonly parts: QuotaStepsParts) {
    this.leftAlone = new LeftAlone('its last throttle', parts.elapsedMs);
  }

  /** Containers that are not throttled now, and why; by id. */
  get refused(): ReadonlyMap<string, string> {
    return this.leftAlone.reasons;
  }

  get whyNotPutBack(): string | undefined {
    return this.problem;
  }

  get whyLostNotPutBack(): string | undefined {
    return this.lostProblem;
  }

  /**
   * Lowers quotas, then raises them. What fails is planned anew in the next round, by what the kernel has then. `kept`:
   * throttles that the plan is not about.
   */
  async carryOut(plan: AvoidancePlan, kept: readonly Throttle[]): Promise<void> {
    const { note, gate, saves, nowMs } = this.parts;
    const atMs = nowMs();
    const noted = note.throttles;
    const { throttles, restores, throttled, settled } = compareWithKernel(plan, { noted, kept, read: this.read });
    const originals = new Map(noted.map(({ id, originalUs }) => [id, originalUs]));
    const isSaved = saves.save(() =>
      note.saveThrottles(throttled, { namespaces: throttles.map(({ pod }) => pod.namespace), nowMs: atMs }),
    );
    // An original needs no record: what follows finds that it is there.
    const back = isSaved ? restores : restores.filter(({ id, toUs }) => toUs === originals.get(id));
    if (isSaved) {
      for (const { subject, because } of plan.ended) if (!settled.has(subject)) this.noteEnded(subject, because);
      await this.lower(throttles, atMs);
    }
    await forEach(back, async (step) => {
      if (gate.mayAct) await this.write(step, 'restore');
    });
  }

  /** Puts the quotas of these back at once. What fails stays noted. */
  async undo(throttles: readonly Throttle[], because: string): Promise<void> {
    const { note, gate, saves, nowMs } = this.parts;
    this.problem = undefined;
    if (throttles.length === 0) return;
    const byId = new Map(throttles.map((throttle) => [throttle.id, throttle]));
    const undone = new Set<string>();
    const ended: (readonly [string, string])[] = [];
    let lastProblem = '';
    await forEach(planUndoAll(throttles).restores, async (step) => {
      if (!gate.mayUndo) return;
      const other = whyNotOurs(byId.get(step.id)!, this.read);
      if (other !== undefined) {
        ended.push([subjectOf(step), other]);
        undone.add(step.id);
        return;
      }
      const outcome = await this.write({ ...step, because: `${step.because}, since ${because}` }, 'restore');
      if (outcome.kind === 'failed') lastProblem = outcome.because;
      else undone.add(step.id);
    });
    const left = note.throttles.filter(({ id }) => !undone.has(id));
    if (saves.save(() => note.saveThrottles(left, { namespaces: [], nowMs: nowMs() })))
      for (const [subject, why] of ended) this.noteEnded(subject, why);
    const failed = throttles.length - undone.size;
    if (failed > 0) this.problem = `the CFS quotas of ${plural(failed, 'container')} can't be put back: ${lastProblem}`;
  }

  /** Gives containers the quotas of their specs, in place of the originals that a lost record had. */
  async undoLost(unknown: UnknownThrottles): Promise<void> {
    const { note, gate, saves, nowMs } = this.parts;
    this.lostProblem = undefined;
    let problem = whyUnknown(unknown);
    if (!('because' in unknown))
      await forEach(unknown.low, async ({ pod, container, fromUs, toUs, periodUs }) => {
        if (!gate.mayUndo) return;
        const because = `it was lower than its spec says, and what cpusetd has throttled is not known: from ${formatQuota(fromUs)} to ${formatQuota(toUs)}`;
        const step = { pod, container: container.name, id: container.id, fromUs, toUs, periodUs, because };
        const outcome = await this.write(step, 'restore');
        if (outcome.kind === 'failed') problem = outcome.because;
      });
    if (problem === '' && gate.mayUndo) saves.save(() => note.saveUnknownUndone(nowMs()));
    else this.lostProblem = `CFS quotas of a lost record can't be put back: ${problem}`;
  }

  private readonly read = (id: string): CpuQuota | undefined => this.parts.quotas.read(id);

  /** A step that has surely failed costs no budget. `atMs`: the time at which all of them were counted. */
  private async lower(steps: readonly ThrottleStep[], atMs: number): Promise<void> {
    const { note, gate, saves } = this.parts;
    const unspent: string[] = [];
    for (const step of steps) {
      if (!gate.mayAct) break;
      const outcome = await this.write(step, 'throttle');
      if (outcome.kind === 'failed' && hasQuotaOfBefore(step, this.read)) unspent.push(step.pod.namespace);
    }
    if (unspent.length > 0 && gate.mayUndo) saves.save(() => note.giveBackActions(unspent, atMs));
  }

  private async write(step: QuotaStep, action: 'throttle' | 'restore'): Promise<QuotaOutcome> {
    const { id, toUs, periodUs, because } = step;
    const { note, quotas, log } = this.parts;
    const originalUs = note.throttles.find((throttle) => throttle.id === id)?.originalUs;
    const outcome = await quotas.write(id, toUs, periodUs);
    const about = { action, subject: subjectOf(step) };
    if (outcome.kind === 'done')
      log.note({ ...about, outcome: 'done', because, podEvent: eventOfStep(action, step, originalUs) });
    if (outcome.kind !== 'failed') return outcome;
    log.note({ ...about, outcome: 'failed', because: outcome.because });
    if (action === 'throttle') this.leftAlone.add(id, outcome.because);
    return outcome;
  }

  private noteEnded(subject: string, because: string): void {
    this.parts.log.note({ action: 'restore', subject, outcome: 'done', because });
  }
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
