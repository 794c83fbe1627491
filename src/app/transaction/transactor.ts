import type { Logger } from 'pino';
import type { Assignment } from '../../core/model/assignment';
import {
  type ContainerCpuUpdate,
  listOthers,
  type NodeEvent,
  type PodInfo,
  type RuntimeAnswer,
} from '../../core/model/events';
import { samePromise, type Container } from '../../core/model/container';
import { namesIn, namesOf } from '../../core/model/names-of';
import type { NodeModel, NodeView } from '../../core/model/node-model';
import { type PodSpec, runtimeUidOf } from '../../core/model/pod-spec';
import type { Move } from '../../core/plan/plan-moves';
import {
  answerTo,
  Draft,
  handle,
  planTogether,
  type CpuEvent,
  type LiveCpusets,
  type Note,
  type Outcome,
} from '../../core/transition';
import { logFault, messageOf } from '../alarms/faults';

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
  /**
   * Containers whose last verdict may have been given on something else than is true now, those that are gone included; absent:
   * all of them.
   */
  readonly outdated?: readonly string[];
  /** For the log, which is not written here: whoever asked waits. */
  readonly notes: readonly Note[];
  /** Absent where nothing was decided: the end of a request was told. */
  readonly timing?: Timing;
  /** The answer is not the last word on what was asked: that follows, or nobody asked. */
  readonly isTentative?: true;
  /** Some of those who lack CPUs were not decided on: enough others were. */
  readonly isCut?: true;
}

/** The end of a request that was not known with its answer, or that got none. See `Transactor.conclude`. */
export interface Conclusion {
  readonly event: 'create-container' | 'update-container' | 'container-starting';
  /** Absent where it could not be read: then nobody knows whose it was. */
  readonly request?: CpuEvent;
  readonly answer: RuntimeAnswer;
  /** For the log alone: it may name others, or the machine. */
  readonly problem?: string;
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

/** The runtime waits two seconds for a plugin, unless it is told otherwise, and then goes on without it. */
const MOVING_MS = 1_000;

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

interface CarriedOut {
  readonly answer: RuntimeAnswer;
  readonly failed: readonly Move[];
}

const NOT_SAVED = 'the decision could not be written to disk, so it was not made';

const LATE: MoveFailure = {
  kind: 'off',
  because: `writing cgroups took ${MOVING_MS / 1000} s, and the runtime waits for the answer: it makes these moves itself`,
};

const FAULT: RuntimeAnswer = {
  kind: 'refuse',
  code: 'INTERNAL',
  message: 'a fault in cpusetd kept it from deciding, so nothing was changed; the log of cpusetd says more',
};

/**
 * The one place where the node changes. A transaction runs in one turn of the event loop, so no two changes ever mix, and
 * what is answered was on disk and in the kernel first. It has four phases, and an exception in each has one result:
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
   * Tells what came of a request after its answer, or without one: what is in front of the transactor refuses here, and says here when
   * what it was answered tentatively is done. Changes nothing. So every refusal passes `tell`, whoever refuses.
   */
  conclude({ event, request, answer, problem }: Conclusion): void {
    this.tell({
      event,
      ...(request && { request }),
      answer,
      moves: [],
      failedMoves: [],
      outdated: [],
      notes: answer.kind === 'refuse' ? [noteRefusal(this.parts.model, request, answer, problem)] : [],
    });
  }

  /** A change of our own making: reconciliation, hotplug, new settings. Throws what `work` throws; then nothing has changed. */
  change(work: (draft: Draft) => readonly Move[]): void {
    const { decided } = this.run([
      { kind: 'internal', mayBeRefused: false, work: (draft) => ({ answer: { kind: 'ok' }, moves: work(draft) }) },
    ]);
    for (const { fault } of decided) if (fault) throw fault.error;
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
    const done = this.carryOutAll(jobs, decided);
    const timing = {
      decideMs: decidedMs - startMs,
      saveMs: savedMs - decidedMs,
      moveMs: performance.now() - savedMs,
    };
    this.tellAll(jobs, decided, done, timing);
    return { decided, answers: done.map(({ answer }) => answer) };
  }

  /** Phase 1. Changes the model; on its own, so that a fault takes no other event with it. */
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

  /** Phase 1 of several. Those who share a pool move once, to where the last of the events leaves them. */
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
    // Whoever is answered first has to have the CPUs free that all of them take: each answer carries what it needs, and more.
    return decided.map((one) => {
      const { draft, outcome } = one;
      if (!draft || outcome.answer.kind === 'refuse') return one;
      const own = draft.concernsEveryone ? moves : moves.filter(({ containerId }) => draft.hasTouched(containerId));
      return { ...one, outcome: { ...outcome, moves: own } };
    });
  }

  /** Phase 2. What the disk does not take is taken back, and decided again without it. */
  private commit(jobs: readonly Job[], proposed: readonly Decided[]): readonly Decided[] {
    if (!this.unsaved && !proposed.some(isDurable)) return proposed;
    const problem = this.save();
    if (!problem) return proposed;
    const before = this.unsaved;
    for (const { draft } of [...proposed].reverse()) draft?.rollback();
    const decided = jobs.map((job) => this.decideWithoutSaving(job, problem.because));
    // What was refused is on disk at most by a save that broke off after its rename.
    this.unsaved = before || problem.onDisk === 'unknown' || decided.some(isDurable);
    return decided;
  }

  private save(): SaveProblem | undefined {
    const problem = this.write();
    this.failing = problem !== undefined;
    if (!problem) this.unsaved = false;
    else this.aside(() => this.parts.log.error({ because: problem.because }, 'state could not be saved'));
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
   * The disk does not take the decision: a request for CPUs is refused, since it could not be promised. What is the matter with
   * the disk is for the log; the reason goes to the pod's Events too. What has
   * happened anyway (a container ended) is kept in memory, and saved with the next change that can be.
   */
  private decideWithoutSaving(job: Job, because: string): Decided {
    const decided = this.decide(job);
    const { draft } = decided;
    if (!draft?.isDurable || !job.mayBeRefused) return decided;
    draft.rollback();
    draft.notes.length = 0; // what they tell did not happen
    const message = `${NOT_SAVED}; the log of cpusetd says why`;
    return {
      draft,
      outcome: { answer: { kind: 'refuse', code: 'UNAVAILABLE', message }, moves: [] },
      problem: because,
    };
  }

  /** Phase 3. From here on the answers stand. */
  private carryOutAll(jobs: readonly Job[], decided: readonly Decided[]): readonly CarriedOut[] {
    for (const { request } of jobs) this.makeRoom(request);
    const endMs = performance.now() + MOVING_MS;
    return decided.map(({ outcome }) => this.carryOut(outcome, endMs));
  }

  /** For what has been found, before it is moved, and for what will be made in a new pod. */
  private makeRoom(request: NodeEvent | undefined): void {
    if (request?.kind === 'pod-started') this.aside(() => this.parts.makeRoom?.(request.pod));
    if (request?.kind === 'synchronize') for (const pod of request.pods) this.aside(() => this.parts.makeRoom?.(pod));
  }

  /** Moves that can't be made here, or not in time, are handed to the runtime with the answer, where the answer can carry them. */
  private carryOut({ answer, moves }: Outcome, endMs: number): CarriedOut {
    const { model, log } = this.parts;
    const failed: Move[] = [];
    let late = 0;
    for (const planned of moves) {
      const container = model.allContainers.get(planned.containerId);
      // A later event of the batch may have changed the promise again: only the last one is carried out, and once.
      const move = { ...planned, to: container?.promise ?? planned.to };
      if (container && samePromise(container.told, move.to)) continue;
      const isLate = performance.now() >= endMs;
      if (isLate) late++;
      const failure = isLate ? LATE : this.move(move);
      if (failure === undefined) {
        if (container) model.apply({ kind: 'put-container', container: { ...container, told: move.to } });
        if (log.isLevelEnabled('debug')) this.aside(() => this.logMoved(move));
      } else if (failure.kind !== 'gone') {
        failed.push(move);
        if (container) model.apply({ kind: 'put-container', container: forgetWritten(container) });
        if (failure.kind === 'refused')
          this.aside(() => log.warn({ ...this.namesOf(move), because: failure.because }, 'could not move'));
      }
    }
    if (late > 0)
      this.aside(() =>
        log.warn({ containers: late, of: moves.length, because: LATE.because }, 'moves were not made here'),
      );
    // The runtime has no update for a pause container: the reconciler tries again.
    const updates = failed.filter(({ containerId }) => model.containers.has(containerId)).map(toUpdate);
    return { answer: answer.kind === 'ok' && updates.length > 0 ? { ...answer, updates } : answer, failed };
  }

  private logMoved(move: Move): void {
    const { to, because } = move;
    this.parts.log.debug({ ...this.namesOf(move), cpus: to.cpus.toString(), because }, 'moved');
  }

  private namesOf({ containerId }: Move): object {
    const container = this.parts.model.allContainers.get(containerId);
    return container ? namesIn(this.parts.model, container) : { containerId };
  }

  private move(move: Move): MoveFailure | undefined {
    try {
      return this.parts.mover.move(move);
    } catch (error) {
      return { kind: 'refused', because: `a fault in moving it: ${messageOf(error)}` };
    }
  }

  /** Phase 4. */
  private tellAll(
    jobs: readonly Job[],
    decided: readonly Decided[],
    done: readonly CarriedOut[],
    timing: Timing,
  ): void {
    if (!this.parts.observer) return;
    jobs.forEach((job, i) =>
      this.aside(() => this.tell(describe(this.parts.model, job, decided[i]!, done[i]!, timing))),
    );
  }

  private tell(done: Transaction): void {
    this.aside(() => this.parts.observer?.onTransaction(done));
  }

  /** Does what no answer depends on. */
  private aside(work: () => void): void {
    try {
      work();
    } catch (error) {
      logFault(this.parts.log, 'a fault beside a transaction; its answer stands', error);
    }
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
  const notes = draft?.notes ?? [];
  const outdated = draft ? draft.outdated : [];
  return {
    event: kind,
    ...(request && { request }),
    answer,
    moves: outcome.moves,
    failedMoves,
    ...(outdated && { outdated }),
    notes: isRefused ? [...notes, noteRefusal(view, request, answer, problem)] : notes,
    timing,
    ...(isTentative(request, answer) && { isTentative: true as const }),
    ...(draft?.isCut === true && { isCut: true as const }),
  };
}

function isTakenBack(request: NodeEvent | undefined): boolean {
  return request?.kind === 'update-container' && request.counts === 'never';
}

/** A refusal is the last word. */
function isTentative(request: NodeEvent | undefined, answer: RuntimeAnswer): boolean {
  if (isTakenBack(request)) return true;
  if (request?.kind !== 'create-container' && request?.kind !== 'update-container') return false;
  return request.counts === 'when-cleared' && listOthers(request, answer).length > 0;
}

/** The line of a refusal, and the text of its Event. */
function noteRefusal(
  view: NodeView,
  request: NodeEvent | undefined,
  { code, message: because }: Extract<RuntimeAnswer, { kind: 'refuse' }>,
  problem: string | undefined,
): Note {
  const fields = { ...subjectOf(view, request), code, because, ...(problem !== undefined && { problem }) };
  return { level: 'warn', message: 'refused', fields };
}

/** The pod and the container that an event is about, as far as it says, by the names that notes have for them. */
function subjectOf(view: NodeView, event: NodeEvent | undefined): Note['fields'] {
  switch (event?.kind) {
    case 'create-container':
    case 'container-starting':
    case 'update-container':
      return { ...namesOf(event.pod, event.container) };
    case 'pod-spec':
      return nameSpec(event.spec);
    case 'pod-spec-gone':
      return nameSpec(view.podSpecs.get(event.uid));
    default:
      return {};
  }
}

function nameSpec(spec: PodSpec | undefined): Note['fields'] {
  return spec ? { podUid: runtimeUidOf(spec), pod: `${spec.namespace}/${spec.name}` } : {};
}

function isDurable({ draft }: Decided): boolean {
  return draft?.isDurable === true;
}

/**
 * The runtime may carry the move out, and write its record, or not: until the kernel is looked at nobody knows, so no later move is
 * spared, and the record is written anew.
 */
function forgetWritten({ told: _told, recorded: _recorded, ...container }: Container): Container {
  return container;
}

function toUpdate({ containerId, to }: Move): ContainerCpuUpdate {
  return { containerId, cpus: to.cpus, ...(!to.mems.isEmpty && { mems: to.mems }) };
}
