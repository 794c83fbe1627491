import type { Logger } from 'pino';
import type { CpuIdentity, IdentityMount } from '../../core/model/cpu-identity';
import type { ContainerCpuUpdate, ContainerInfo, PodInfo, RuntimeAnswer } from '../../core/model/events';
import { samePromise, type Container } from '../../core/model/container';
import { namesIn } from '../../core/model/names-of';
import type { NodeModel } from '../../core/model/node-model';
import type { NodeEvent } from '../../core/model/events';
import type { Move } from '../../core/plan/plan-moves';
import type { Outcome } from '../../core/transition';
import { logFault, messageOf } from '../alarms/faults';

/** Moves running containers by writing their cgroups. */
export interface Mover {
  /** Undefined when the cgroup was written; else why not. `gone` containers need no move. */
  move(move: Move): MoveFailure | undefined;
  /** Gives CPUs that were offline back to the cgroups above the pod's containers. */
  widenPod?(pod: PodInfo): void;
}

/** Writes the file that says a container's CPUs. */
export interface IdentityWriter {
  /**
   * Before a container is created. Undefined without `identity`, and when the file can't be written: the container is
   * created without it.
   */
  prepare(
    container: Pick<ContainerInfo, 'sandboxId' | 'name'>,
    identity: CpuIdentity | undefined,
  ): IdentityMount | undefined;
}

export interface MoveFailure {
  readonly kind: 'gone' | 'refused' | 'off';
  readonly because: string;
}

export interface CarriedOut {
  readonly answer: RuntimeAnswer;
  readonly failed: readonly Move[];
}

export interface CarryOutParts {
  readonly model: NodeModel;
  readonly mover: Mover;
  /** Absent where no container gets a file with its CPUs. */
  readonly identities?: IdentityWriter;
  readonly log: Logger;
}

/** The runtime waits two seconds for a plugin, unless it is configured otherwise, and then goes on without it. */
const MOVING_MS = 1_000;

const LATE: MoveFailure = {
  kind: 'off',
  because: `writing cgroups took ${MOVING_MS / 1000} s, and the runtime waits for the answer: it makes these moves itself`,
};

/**
 * Carries decisions out in the kernel, after they were saved. Never throws: a fault in one move counts as a failure of
 * that move.
 */
export class CarryOut {
  constructor(private readonly parts: CarryOutParts) {}

  /** The results are in the order of the outcomes. */
  all(requests: readonly (NodeEvent | undefined)[], outcomes: readonly Outcome[]): readonly CarriedOut[] {
    for (const request of requests) this.widenPods(request);
    const endMs = performance.now() + MOVING_MS;
    return outcomes.map((outcome, i) => this.withMount(requests[i], this.carryOut(outcome, endMs)));
  }

  private withMount(request: NodeEvent | undefined, done: CarriedOut): CarriedOut {
    const { identities, log } = this.parts;
    if (!identities || request?.kind !== 'create-container' || done.answer.kind !== 'ok') return done;
    const { identity, ...answer } = done.answer;
    let mount: IdentityMount | undefined;
    aside(log, () => (mount = identities.prepare(request.container, identity)));
    return mount || identity ? { ...done, answer: { ...answer, ...(mount && { mount }) } } : done;
  }

  /**
   * Cgroups above pods that were found are widened before their containers are moved, those above new pods before their
   * containers are made.
   */
  private widenPods(request: NodeEvent | undefined): void {
    if (request?.kind === 'pod-started') this.widen(request.pod);
    if (request?.kind === 'synchronize') for (const pod of request.pods) this.widen(pod);
  }

  private widen(pod: PodInfo): void {
    const { mover, log } = this.parts;
    aside(log, () => mover.widenPod?.(pod));
  }

  /**
   * Moves that can't be made here, or not in time, are handed to the runtime with the answer, where the answer can
   * carry them.
   */
  private carryOut({ answer, moves }: Outcome, endMs: number): CarriedOut {
    const { model, log } = this.parts;
    const failed: Move[] = [];
    let late = 0;
    for (const planned of moves) {
      const container = model.allContainers.get(planned.containerId);
      // A later event of the batch may have changed the promise again: only the last one is carried out, and once.
      const move = { ...planned, to: container?.promise ?? planned.to };
      if (container && samePromise(container.applied, move.to)) continue;
      const isLate = performance.now() >= endMs;
      if (isLate) late++;
      const failure = isLate ? LATE : this.move(move);
      if (failure === undefined) {
        if (container) model.apply({ kind: 'put-container', container: { ...container, applied: move.to } });
        if (log.isLevelEnabled('debug')) aside(log, () => this.logMoved(move));
      } else if (failure.kind !== 'gone') {
        failed.push(move);
        if (container) model.apply({ kind: 'put-container', container: forgetWritten(container) });
        if (failure.kind === 'refused')
          aside(log, () => log.warn({ ...this.namesOf(move), because: failure.because }, 'could not move'));
      }
    }
    if (late > 0)
      aside(log, () =>
        log.warn({ containers: late, of: moves.length, because: LATE.because }, 'moves were not made here'),
      );
    // The runtime has no update for a pause container: the reconciler tries again.
    const updates = failed.filter(({ containerId }) => model.containers.has(containerId)).map(toUpdate);
    return { answer: answer.kind === 'ok' && updates.length > 0 ? { ...answer, updates } : answer, failed };
  }

  private move(move: Move): MoveFailure | undefined {
    try {
      return this.parts.mover.move(move);
    } catch (error) {
      return { kind: 'refused', because: `a fault in moving it: ${messageOf(error)}` };
    }
  }

  private logMoved(move: Move): void {
    const { to, because } = move;
    this.parts.log.debug({ ...this.namesOf(move), cpus: to.cpus.toString(), because }, 'moved');
  }

  private namesOf({ containerId }: Move): object {
    const container = this.parts.model.allContainers.get(containerId);
    return container ? namesIn(this.parts.model, container) : { containerId };
  }
}

/** Does work that no answer depends on. A fault in it is logged. */
export function aside(log: Logger, work: () => void): void {
  try {
    work();
  } catch (error) {
    logFault(log, 'a fault beside a transaction; its answer stands', error);
  }
}

/**
 * The runtime may or may not apply a move that was handed to it, and write its record. Both are forgotten, so that the
 * next move is made in any case and the record is written anew.
 */
function forgetWritten({ applied: _applied, runtimeRecord: _recorded, ...container }: Container): Container {
  return container;
}

function toUpdate({ containerId, to }: Move): ContainerCpuUpdate {
  return { containerId, cpus: to.cpus, ...(!to.mems.isEmpty && { mems: to.mems }) };
}
