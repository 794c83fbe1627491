import type { NodeEvent, RuntimeAnswer } from '../../core/model/events';
import type { NodeModel } from '../../core/model/node-model';
import type { NodeView } from '../../core/model/node-view';
import type { Move } from '../../core/plan/plan-moves';
import { Draft, type LiveCpusets } from '../../core/transition';
import { aside, CarryOut, type CarriedOut, type IdentityWriter, type Mover } from './carry-out';
import { Decider, jobOf, type Decided, type Job } from './decide';
import { StateSaver, type StateSaverParts } from './state-saver';
import { isTakenBack, isTentative, toRefused, type Conclusion, type Timing, type Transaction } from './transaction';

export interface TransactorParts extends StateSaverParts {
  readonly model: NodeModel;
  readonly mover: Mover;
  /** Absent where no container gets a file with its CPUs. */
  readonly identities?: IdentityWriter;
  /** Adds to an event what the machine knows about it. */
  readonly look?: (event: NodeEvent) => NodeEvent;
  readonly now: () => string;
}

/**
 * The one place where the node changes. A transaction runs in one turn of the event loop, so no two changes ever mix,
 * and every answer was on disk and in the kernel first. It has four phases, and an exception in each has one result:
 *
 * 1. decide: nothing of that event remains, and it alone is answered INTERNAL. The others of its batch go on.
 * 2. save: it counts as a save that failed, after which the disk may have either state.
 * 3. carry out: that container's move counts as failed. It is handed to the runtime with the answer, or to the
 *    reconciler; the other moves are made, and the answer stands.
 * 4. after the commit (observer, log): it is logged and changes no answer.
 *
 * So an error is only answered for what did not happen, and `handle` never throws.
 */
export class Transactor {
  private readonly decider: Decider;
  private readonly saver: StateSaver;
  private readonly carryOut: CarryOut;

  constructor(private readonly parts: TransactorParts) {
    this.decider = new Decider(parts);
    this.saver = new StateSaver(parts);
    this.carryOut = new CarryOut(parts);
  }

  get hasUnsavedState(): boolean {
    return this.saver.isBehind;
  }

  /** Carries one event out. */
  handle(event: NodeEvent, live?: LiveCpusets): RuntimeAnswer {
    return this.handleAll([event], live)[0]!;
  }

  /** Several events that arrived together share one durable write. Answers are in the order of the events. */
  handleAll(events: readonly NodeEvent[], live?: LiveCpusets): RuntimeAnswer[] {
    aside(this.parts.log, () => this.parts.observer?.onArrival?.(events));
    const startMs = performance.now();
    const jobs = events.map((event) => jobOf(this.look(event), live));
    return this.run(jobs, startMs).answers;
  }

  /** An event that can't be looked at is decided on as it is. */
  private look(event: NodeEvent): NodeEvent {
    let seen = event;
    aside(this.parts.log, () => (seen = this.parts.look?.(event) ?? event));
    return seen;
  }

  /**
   * Reports how a request ended after its answer, or without one. The interceptors in front of the transactor refuse
   * here, and say here when a request that was answered tentatively is done. Changes nothing. So every refusal is
   * reported in one place.
   */
  conclude({ event, request, answer, problem }: Conclusion): void {
    this.report({
      event,
      ...(request && { request }),
      answer,
      moves: [],
      failedMoves: [],
      outdated: [],
      reported: answer.kind === 'refuse' ? [toRefused(this.parts.model, request, answer, problem)] : [],
    });
  }

  /**
   * A change of our own making: reconciliation, hotplug, new settings. Throws what `work` throws; then nothing has
   * changed.
   */
  change(work: (draft: Draft) => readonly Move[]): void {
    const { decided } = this.run([
      { kind: 'internal', mayBeRefused: false, work: (draft) => ({ answer: { kind: 'ok' }, moves: work(draft) }) },
    ]);
    for (const { fault } of decided) if (fault) throw fault.error;
  }

  /**
   * Takes in a fact about what the runtime has applied. It changes no promise, so nothing is saved, moved or reported.
   * Throws what `work` throws; then nothing has changed.
   */
  record(work: (draft: Draft) => void): void {
    const draft = new Draft(this.parts.model, this.parts.now());
    try {
      work(draft);
    } catch (error) {
      draft.rollback();
      throw error;
    }
  }

  /** Saves again after a save that failed. */
  saveAgain(): void {
    this.saver.retry();
  }

  /** Saves the present state, so that a disk that takes none is an alarm at once. */
  trySaving(): void {
    this.saver.save();
  }

  private run(
    jobs: readonly Job[],
    startMs = performance.now(),
  ): { readonly decided: readonly Decided[]; readonly answers: RuntimeAnswer[] } {
    const proposed = this.decider.decideAll(jobs);
    const decidedMs = performance.now();
    const decided = this.commit(jobs, proposed);
    const savedMs = performance.now();
    // From here on the answers stand.
    const done = this.carryOut.all(
      jobs.map(({ request }) => request),
      decided.map(({ outcome }) => outcome),
    );
    const timing = {
      decideMs: decidedMs - startMs,
      saveMs: savedMs - decidedMs,
      moveMs: performance.now() - savedMs,
    };
    this.reportAll(jobs, decided, done, timing);
    return { decided, answers: done.map(({ answer }) => answer) };
  }

  /** Phase 2. A decision that the disk does not take is taken back, and made again without saving. */
  private commit(jobs: readonly Job[], proposed: readonly Decided[]): readonly Decided[] {
    const { saver, decider } = this;
    if (!saver.isBehind && !proposed.some(isDurable)) return proposed;
    const problem = saver.save();
    if (!problem) return proposed;
    for (const { draft } of [...proposed].reverse()) draft?.rollback();
    const decided = jobs.map((job) => decider.decideWithoutSaving(job, problem.because));
    // A refused decision is on disk only if a save broke off after its rename.
    if (problem.onDisk === 'unknown' || decided.some(isDurable)) saver.markBehind();
    return decided;
  }

  /** Phase 4. Changes no answer. */
  private reportAll(
    jobs: readonly Job[],
    decided: readonly Decided[],
    done: readonly CarriedOut[],
    timing: Timing,
  ): void {
    const { observer, log, model } = this.parts;
    if (!observer) return;
    jobs.forEach((job, i) => aside(log, () => this.report(describe(model, job, decided[i]!, done[i]!, timing))));
  }

  private report(done: Transaction): void {
    aside(this.parts.log, () => this.parts.observer?.onTransaction(done));
  }
}

function describe(
  view: NodeView,
  { kind, request, mayBeRefused }: Job,
  { draft, outcome, problem }: Decided,
  { answer, failed: failedMoves }: CarriedOut,
  timing: Timing,
): Transaction {
  const isRefused = mayBeRefused && answer.kind === 'refuse' && !isTakenBack(request);
  const reported = draft?.reported ?? [];
  const outdated = draft ? draft.outdated : [];
  return {
    event: kind,
    ...(request && { request }),
    answer,
    moves: outcome.moves,
    failedMoves,
    ...(outdated && { outdated }),
    reported: isRefused ? [...reported, toRefused(view, request, answer, problem)] : reported,
    timing,
    ...(isTentative(request, answer) && { isTentative: true as const }),
    ...(draft?.isCut === true && { isCut: true as const }),
  };
}

function isDurable({ draft }: Decided): boolean {
  return draft?.isDurable === true;
}
