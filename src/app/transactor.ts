import type { Logger } from 'pino';
import type { Assignment } from '../core/model/assignment';
import type { ContainerCpuUpdate, PodInfo, RuntimeAnswer } from '../core/model/events';
import { samePromise, type Container } from '../core/model/container';
import type { NodeModel } from '../core/model/node-model';
import type { NodeEvent } from '../core/model/pod-event';
import type { PodSpec } from '../core/model/pod-spec';
import type { Move } from '../core/plan/plan-moves';
import { Draft, handle, type LiveCpusets, type Note, type Outcome } from '../core/transition';

/** Moves running containers by writing their cgroups. */
export interface Mover {
  /** Undefined when the cgroup was written; else why not. `gone` containers need no move. */
  move(move: Move): MoveFailure | undefined;
}

export interface MoveFailure {
  readonly kind: 'gone' | 'refused' | 'off';
  readonly because: string;
}

/** A save that failed. `onDisk`: what a restart would read, the state before it or either of the two. */
export interface SaveProblem {
  readonly because: string;
  readonly onDisk: 'old' | 'unknown';
}

export interface TransactorParts {
  readonly model: NodeModel;
  /** Undefined when durable; else why not. */
  readonly save: (assignments: Iterable<Assignment>, pods: Iterable<PodSpec>) => SaveProblem | undefined;
  readonly mover: Mover;
  /** Lets cgroups above the pod's containers have all CPUs, where they may lack some. */
  readonly makeRoom?: (pod: PodInfo) => void;
  readonly now: () => string;
  readonly log: Logger;
  readonly observer?: TransactionObserver;
}

/** What one event, or one change of our own, has led to. */
export interface Transaction {
  readonly event: NodeEvent['kind'] | 'internal';
  /** The event itself, unless the change was of our own making. */
  readonly request?: NodeEvent;
  readonly answer: RuntimeAnswer;
  readonly moves: readonly Move[];
  readonly failedMoves: readonly Move[];
  /** For the log, which is not written here: whoever asked waits. */
  readonly notes: readonly Note[];
  readonly timing: Timing;
}

/** Is told of every transaction before its answer leaves: what can wait has to be put off. */
export interface TransactionObserver {
  onTransaction(done: Transaction): void;
}

/** Milliseconds of each part of a transaction. */
export interface Timing {
  readonly decideMs: number;
  readonly saveMs: number;
  readonly moveMs: number;
}

/** What is told only because of itself, or can be told again; all else has happened, and is taken as it is. */
const MAY_BE_REFUSED: ReadonlySet<NodeEvent['kind']> = new Set([
  'create-container',
  'update-container',
  'pod-spec',
  'pod-spec-gone',
  'pod-specs',
]);

type Work = (draft: Draft) => Outcome;

interface Job {
  readonly kind: NodeEvent['kind'] | 'internal';
  readonly request?: NodeEvent;
  readonly mayBeRefused: boolean;
  readonly work: Work;
}

interface Decided {
  readonly draft: Draft;
  readonly outcome: Outcome;
}

/**
 * The one place where the node changes: decide, save, carry out, answer. Everything happens in one turn of the event
 * loop, so no two changes ever mix, and what is answered was on disk and in the kernel first.
 */
export class Transactor {
  /** Memory has something that the disk may not have. */
  private unsaved = false;
  /** The last save failed. */
  private failing = false;

  constructor(private readonly parts: TransactorParts) {}

  get hasUnsavedState(): boolean {
    return this.unsaved;
  }

  /** Carries one event out. */
  handle(event: NodeEvent, live?: LiveCpusets): RuntimeAnswer {
    return this.handleAll([event], live)[0]!;
  }

  /** Several events that arrived together share one durable write. Answers are in the order of the events. */
  handleAll(events: readonly NodeEvent[], live?: LiveCpusets): RuntimeAnswer[] {
    return this.run(
      events.map((event) => ({
        kind: event.kind,
        request: event,
        mayBeRefused: MAY_BE_REFUSED.has(event.kind),
        work: (draft) => handle(draft, event, live),
      })),
    );
  }

  /** A change of our own making: reconciliation, hotplug, new settings. */
  change(work: (draft: Draft) => readonly Move[]): void {
    this.run([
      { kind: 'internal', mayBeRefused: false, work: (draft) => ({ answer: { kind: 'ok' }, moves: work(draft) }) },
    ]);
  }

  /** Tries again after a save that failed, also where nothing is left to write: so it is known when the disk takes state. */
  saveAgain(): void {
    if (this.unsaved || this.failing) this.save();
  }

  /** Writes what there is, to learn whether the disk takes it. */
  trySaving(): void {
    this.save();
  }

  private run(jobs: readonly Job[]): RuntimeAnswer[] {
    const start = performance.now();
    let done = this.decideAll(jobs);
    const decided = performance.now();

    const needsSave = this.unsaved || done.some(({ draft }) => draft.isDurable);
    const problem = needsSave ? this.save() : undefined;
    if (problem) {
      const before = this.unsaved;
      for (const { draft } of [...done].reverse()) draft.rollback();
      done = jobs.map(({ work, mayBeRefused }) => this.withoutSaving(work, mayBeRefused, problem.because));
      // What was refused is on disk at most by a save that broke off after its rename.
      this.unsaved = before || problem.onDisk === 'unknown' || done.some(({ draft }) => draft.isDurable);
    }
    const saved = performance.now();

    for (const { request } of jobs) this.makeRoom(request);
    const answers = done.map(({ outcome }) => this.carryOut(outcome));
    const timing = { decideMs: decided - start, saveMs: saved - decided, moveMs: performance.now() - saved };
    done.forEach(({ draft, outcome }, i) => {
      const { answer, failed } = answers[i]!;
      const { kind, request } = jobs[i]!;
      this.parts.observer?.onTransaction({
        event: kind,
        ...(request && { request }),
        answer,
        moves: outcome.moves,
        failedMoves: failed,
        notes: draft.notes,
        timing,
      });
    });
    return answers.map(({ answer }) => answer);
  }

  /** Decides one after the other. A decision that throws is a fault of ours: nothing of the batch remains. */
  private decideAll(jobs: readonly Job[]): Decided[] {
    const { model, now } = this.parts;
    const drafts: Draft[] = [];
    try {
      return jobs.map(({ work }) => {
        const draft = new Draft(model, now());
        drafts.push(draft);
        return { draft, outcome: work(draft) };
      });
    } catch (error) {
      for (const draft of drafts.reverse()) draft.rollback();
      throw error;
    }
  }

  private save(): SaveProblem | undefined {
    const { model } = this.parts;
    const problem = this.parts.save(model.assignments.values(), model.keptSpecs.values());
    this.failing = problem !== undefined;
    if (!problem) this.unsaved = false;
    if (problem) this.parts.log.error({ because: problem.because }, 'state could not be saved');
    return problem;
  }

  /**
   * The disk does not take the decision: a request for CPUs is refused, since it could not be promised. What has
   * happened anyway (a container ended) is kept in memory, and saved with the next change that can be.
   */
  private withoutSaving(work: Work, mayBeRefused: boolean, because: string): Decided {
    const draft = new Draft(this.parts.model, this.parts.now());
    const outcome = work(draft);
    if (!draft.isDurable || !mayBeRefused) return { draft, outcome };
    draft.rollback();
    draft.notes.length = 0; // what they tell did not happen
    const message = 'the decision could not be written to disk, so it was not made; the log of cpusetd says why';
    draft.note('warn', 'refused', { because });
    return { draft, outcome: { answer: { kind: 'refuse', code: 'UNAVAILABLE', message }, moves: [] } };
  }

  /** For what has been found, before it is moved, and for what will be made in a new pod. */
  private makeRoom(request: NodeEvent | undefined): void {
    if (request?.kind === 'pod-started') this.parts.makeRoom?.(request.pod);
    if (request?.kind === 'synchronize') for (const pod of request.pods) this.parts.makeRoom?.(pod);
  }

  /** What can't be moved here is handed to the runtime with the answer, where the answer can carry it. */
  private carryOut({ answer, moves }: Outcome): { answer: RuntimeAnswer; failed: Move[] } {
    const { model, mover, log } = this.parts;
    const failed: Move[] = [];
    for (const planned of moves) {
      const container = model.containers.get(planned.containerId);
      // A later event of the batch may have changed the promise again: only the last one is carried out, and once.
      const move = { ...planned, to: container?.promise ?? planned.to };
      if (container && samePromise(container.told, move.to)) continue;
      const failure = mover.move(move);
      if (failure === undefined) {
        if (container) model.apply({ kind: 'put-container', container: { ...container, told: move.to } });
        log.debug({ containerId: move.containerId, cpus: move.to.cpus.toString(), because: move.because }, 'moved');
      } else if (failure.kind !== 'gone') {
        failed.push(move);
        if (container) model.apply({ kind: 'put-container', container: forgetTold(container) });
        if (failure.kind === 'refused')
          log.warn({ containerId: move.containerId, because: failure.because }, 'could not move');
      }
    }
    if (answer.kind !== 'ok' || failed.length === 0) return { answer, failed };
    return { answer: { ...answer, updates: failed.map(toUpdate) }, failed };
  }
}

/** The runtime may carry the move out, or not: until the kernel is looked at nobody knows, so no later move is spared. */
function forgetTold({ told: _told, ...container }: Container): Container {
  return container;
}

function toUpdate({ containerId, to }: Move): ContainerCpuUpdate {
  return { containerId, cpus: to.cpus, ...(!to.mems.isEmpty && { mems: to.mems }) };
}
