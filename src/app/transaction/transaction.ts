import { listOthers, type RuntimeAnswer } from '../../core/model/events';
import { runtimeUidOf } from '../../core/model/pod-spec';
import { namesOf } from '../../core/model/names-of';
import type { NodeView } from '../../core/model/node-view';
import type { NodeEvent } from '../../core/model/events';
import type { PodSpec } from '../../core/model/pod-spec';
import type { Move } from '../../core/plan/plan-moves';
import type { ContainerRef, CpuEvent, DomainEvent, PodRef } from '../../core/transition';

/** The result of one event, or of one change of our own. */
export interface Transaction {
  readonly event: NodeEvent['kind'] | 'internal';
  /** The event itself, unless the change was of our own making. */
  readonly request?: NodeEvent;
  readonly answer: RuntimeAnswer;
  readonly moves: readonly Move[];
  readonly failedMoves: readonly Move[];
  /**
   * Containers whose last verdict may have been given on something else than is true now, those that are gone included;
   * absent: all of them.
   */
  readonly outdated?: readonly string[];
  /** For the log and other reports, which are made after the answer. */
  readonly reported: readonly DomainEvent[];
  /** Absent where nothing was decided: only the end of a request became known. */
  readonly timing?: Timing;
  /** The answer is not final: another transaction follows with the result, or the request has no caller. */
  readonly isTentative?: true;
  /** Enough containers that lack CPUs were decided on; the others wait for the next transaction. */
  readonly isCut?: true;
}

/** Milliseconds of each part of a transaction. */
export interface Timing {
  /** With the look at the machine that a decision needs. */
  readonly decideMs: number;
  readonly saveMs: number;
  readonly moveMs: number;
}

/** The end of a request that was not known with its answer, or that got none. See `Transactor.conclude`. */
export interface Conclusion {
  readonly event: 'create-container' | 'update-container' | 'container-starting';
  /** Absent when the request could not be read: its container is not known then. */
  readonly request?: CpuEvent;
  readonly answer: RuntimeAnswer;
  /** For the log alone: it may name other pods, or the machine. */
  readonly problem?: string;
}

/** Gets every transaction and every save before the answer is sent: work that can wait has to be put off. */
export interface TransactionObserver {
  /** Events have come, and nothing is decided on them: what they say about the machine can be read before. */
  onArrival?(events: readonly NodeEvent[]): void;
  onTransaction(done: Transaction): void;
  /** `problem`: why it failed; undefined when all of it is durable. */
  onSaved?(tookMs: number, problem: SaveProblem | undefined): void;
}

/** A save that failed. `onDisk`: what a restart would read, the state before it or either of the two. */
export interface SaveProblem {
  readonly because: string;
  readonly onDisk: 'old' | 'unknown';
}

export function isTakenBack(request: NodeEvent | undefined): boolean {
  return request?.kind === 'update-container' && request.counts === 'never';
}

/** A refusal is final. */
export function isTentative(request: NodeEvent | undefined, answer: RuntimeAnswer): boolean {
  if (isTakenBack(request)) return true;
  if (request?.kind !== 'create-container' && request?.kind !== 'update-container') return false;
  return request.counts === 'when-cleared' && listOthers(request, answer).length > 0;
}

/** The event that reports a refusal. */
export function toRefused(
  view: NodeView,
  request: NodeEvent | undefined,
  { code, message: because }: Extract<RuntimeAnswer, { kind: 'refuse' }>,
  problem: string | undefined,
): DomainEvent {
  return { kind: 'refused', subject: subjectOf(view, request), code, because, problem };
}

/** The pod and the container that an event is about, as far as it names them. */
function subjectOf(view: NodeView, event: NodeEvent | undefined): PodRef | ContainerRef | undefined {
  switch (event?.kind) {
    case 'create-container':
    case 'container-starting':
    case 'update-container':
      return namesOf(event.pod, event.container);
    case 'pod-spec':
      return nameSpec(event.spec);
    case 'pod-spec-gone':
      return nameSpec(view.podSpecs.get(event.uid));
    default:
      return undefined;
  }
}

function nameSpec(spec: PodSpec | undefined): PodRef | undefined {
  return spec && { podUid: runtimeUidOf(spec), pod: `${spec.namespace}/${spec.name}` };
}
