import type { Logger } from 'pino';
import type { Assignment } from '../../core/model/assignment';
import type { NodeEvent, RuntimeAnswer } from '../../core/model/events';
import type { NodeModel } from '../../core/model/node-model';
import type { NodeView } from '../../core/model/node-view';
import type { PodSpec } from '../../core/model/pod-spec';
import type { Move } from '../../core/plan/plan-moves';
import { answerTo, Draft, handle, planTogether, type LiveCpusets, type Outcome } from '../../core/transition';
import { logFault, messageOf } from '../alarms/faults';
import { aside, CarryOut, type CarriedOut, type Mover } from './carry-out';
import {
  isTakenBack,
  isTentative,
  toRefused,
  type Conclusion,
  type SaveProblem,
  type Timing,
  type Transaction,
  type TransactionObserver,
} from './transaction';

export interface TransactorParts {
  readonly model: NodeModel;
  /** Undefined when durable; else why not. */
  readonly save: (assignments: Iterable<Assignment>, pods: Iterable<PodSpec>) => SaveProblem | undefined;
  readonly mover: Mover;
  readonly now: () => string;
  readonly log: Logger;
  readonly observer?: TransactionObserver;
}

/** Events that ask for something: they may be refused. All others report what has happened, and are accepted even when it cannot be saved. */
const MAY_BE_REFUSED: ReadonlySet<NodeEvent['kind']> = new Set([
  'create-container',
  'update-container',
  'pod-spec',
  'pod-spec-gone',
  'pod-specs',
]);

interface Job {
  readonly kind: NodeEvent['kind'] | 'internal';
  readonly request?: NodeEvent;
  readonly mayBeRefused: boolean;
  /** `together`: the moves are planned later, with those of others. */
  readonly work: (draft: Draft, together: boolean) => Outcome;
}

interface Decided {
  /** Undefined when the decision threw: nothing of it remains. */
  readonly draft: Draft | undefined;
  readonly outcome: Outcome;
  readonly fault?: { readonly error: unknown };
  /** Why the disk did not take it; for the log alone. */
  readonly problem?: string;
}

const NOT_SAVED = 'the decision could not be written to disk, so it was not made';

const FAULT: RuntimeAnswer = {
  kind: 'refuse',
  code: 'INTERNAL',
  message: 'a fault in cpusetd kept it from deciding, so nothing was changed; the log of cpusetd says more',
};

/**
 * The one place where the node changes. A transaction runs in one turn of the event loop, so no two changes ever mix, and
 * every answer was on disk and in the kernel first. It has four phases, and an exception in each has one result:
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
  /** The model has something that the disk may not have. */
  private unsaved = false;
  /** The last save failed. */
  private failing = false;

  private readonly carryOut: CarryOut;

  constructor(private readonly parts: TransactorParts) {
    this.carryOut = new CarryOut(parts);
  }

  get hasUnsavedState(): boolean {
    return this.unsaved;
  }

  /** Carries one event out. */
  handle(event: NodeEvent, live?: LiveCpusets): RuntimeAnswer {
    return this.handleAll([event], live)[0]!;
  }

  /** Several events that arrived together share one durable write. Answers are in the order of the events. */
  handleAll(events: readonly NodeEvent[], live?: LiveCpusets): RuntimeAnswer[] {
    const jobs = events.map((event) => ({
      kind: event.kind,
      request: event,
      mayBeRefused: MAY_BE_REFUSED.has(event.kind),
      work: (draft: Draft, together: boolean) =>
        together ? { answer: answerTo(draft, event, live), moves: [] } : handle(draft, event, live),
    }));
    return this.run(jobs).answers;
  }

  /**
   * Reports how a request ended after its answer, or without one. The interceptors in front of the transactor refuse here, and say here when
   * a request that was answered tentatively is done. Changes nothing. So every refusal is reported in one place.
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

  /** A change of our own making: reconciliation, hotplug, new settings. Throws what `work` throws; then nothing has changed. */
  change(work: (draft: Draft) => readonly Move[]): void {
    const { decided } = this.run([
      { kind: 'internal', mayBeRefused: false, work: (draft) => ({ answer: { kind: 'ok' }, moves: work(draft) }) },
    ]);
    for (const { fault } of decided) if (fault) throw fault.error;
  }

  /**
   * Takes in a fact about what the runtime has applied. It changes no promise, so nothing is saved, moved or reported. Throws what `work`
   * throws; then nothing has changed.
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

  /** Tries again after a save that failed, also where nothing is left to write: so it is known when the disk takes state. */
  saveAgain(): void {
    if (this.unsaved || this.failing) this.save();
  }

  /** Writes what there is, to learn whether the disk takes it. */
  trySaving(): void {
    this.save();
  }

  private run(jobs: readonly Job[]): { readonly decided: readonly Decided[]; readonly answers: RuntimeAnswer[] } {
    const startMs = performance.now();
    const proposed = jobs.length > 1 ? this.decideTogether(jobs) : jobs.map((job) => this.decide(job));
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

  /** Phase 1. Changes the model; each event is decided on its own, so that a fault takes no other event with it. */
  private decide({ kind, work }: Job, now = this.parts.now, together = false): Decided {
    const { model, log } = this.parts;
    let draft: Draft | undefined;
    try {
      draft = new Draft(model, now());
      return { draft, outcome: work(draft, together) };
    } catch (error) {
      draft?.rollback();
      if (kind !== 'internal')
        logFault(log, 'an event could not be decided; nothing of it remains', error, { event: kind });
      return { draft: undefined, outcome: { answer: FAULT, moves: [] }, fault: { error } };
    }
  }

  /** Phase 1 of several events. Containers that share a pool move once, to where the last of the events leaves them. */
  private decideTogether(jobs: readonly Job[]): readonly Decided[] {
    let time: string | undefined;
    const now = (): string => (time ??= this.parts.now());
    const decided = jobs.map((job) => this.decide(job, now, true));
    const drafts = decided.flatMap(({ draft }) => draft ?? []);
    let moves: readonly Move[];
    try {
      moves = planTogether(drafts);
    } catch (error) {
      logFault(
        this.parts.log,
        'moves of several events could not be planned together; each event is decided by itself',
        error,
      );
      for (const draft of drafts.reverse()) draft.rollback();
      return jobs.map((job) => this.decide(job));
    }
    if (moves.length === 0) return decided;
    // The CPUs that all of them take have to be free when the first is answered: each answer carries what it needs, and more.
    return decided.map((one) => {
      const { draft, outcome } = one;
      if (!draft || outcome.answer.kind === 'refuse') return one;
      const own = draft.concernsEveryone ? moves : moves.filter(({ containerId }) => draft.hasTouched(containerId));
      return { ...one, outcome: { ...outcome, moves: own } };
    });
  }

  /** Phase 2. A decision that the disk does not take is taken back, and made again without saving. */
  private commit(jobs: readonly Job[], proposed: readonly Decided[]): readonly Decided[] {
    if (!this.unsaved && !proposed.some(isDurable)) return proposed;
    const problem = this.save();
    if (!problem) return proposed;
    const before = this.unsaved;
    for (const { draft } of [...proposed].reverse()) draft?.rollback();
    const decided = jobs.map((job) => this.decideWithoutSaving(job, problem.because));
    // A refused decision is on disk only if a save broke off after its rename.
    this.unsaved = before || problem.onDisk === 'unknown' || decided.some(isDurable);
    return decided;
  }

  private save(): SaveProblem | undefined {
    const startMs = performance.now();
    const problem = this.write();
    const { observer } = this.parts;
    if (observer?.onSaved) aside(this.parts.log, () => observer.onSaved?.(performance.now() - startMs, problem));
    this.failing = problem !== undefined;
    if (!problem) this.unsaved = false;
    else aside(this.parts.log, () => this.parts.log.error({ because: problem.because }, 'state could not be saved'));
    return problem;
  }

  private write(): SaveProblem | undefined {
    const { model, save } = this.parts;
    try {
      return save(model.assignments.values(), model.keptSpecs.values());
    } catch (error) {
      return { because: `a fault in saving: ${messageOf(error)}`, onDisk: 'unknown' };
    }
  }

  /**
   * The disk does not take the decision: a request for CPUs is refused, since it could not be promised. The problem of the disk is for the
   * log; the reason goes to the pod's Events too. A fact (a container ended) is kept in memory, and saved with the next change that can be.
   */
  private decideWithoutSaving(job: Job, because: string): Decided {
    const decided = this.decide(job);
    const { draft } = decided;
    if (!draft?.isDurable || !job.mayBeRefused) return decided;
    draft.rollback();
    draft.reported.length = 0; // it did not happen
    const message = `${NOT_SAVED}; the log of cpusetd says why`;
    return {
      draft,
      outcome: { answer: { kind: 'refuse', code: 'UNAVAILABLE', message }, moves: [] },
      problem: because,
    };
  }

  /** Phase 4. Changes no answer. */
  private reportAll(
    jobs: readonly Job[],
    decided: readonly Decided[],
    done: readonly CarriedOut[],
    timing: Timing,
  ): void {
    if (!this.parts.observer) return;
    jobs.forEach((job, i) =>
      aside(this.parts.log, () => this.report(describe(this.parts.model, job, decided[i]!, done[i]!, timing))),
    );
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
