import type { AllocationStep } from '../../core/allocation';
import { keyOf, type AssignmentKey } from '../../core/model/assignment';
import type { NodeView } from '../../core/model/node-view';
import type { DomainEvent } from '../../core/transition';
import type { Faults } from '../alarms/faults';

/**
 * Steps by which the CPUs of each living container were chosen, and of those that are planned. Not kept on disk: after
 * a restart only the reason is known.
 */
export class AllocationTrace {
  private readonly stepsById = new Map<string, readonly AllocationStep[]>();
  private readonly stepsOfPlanned = new Map<AssignmentKey, readonly AllocationStep[]>();

  constructor(
    private readonly model: Pick<NodeView, 'containers' | 'assignments'>,
    private readonly faults: Faults,
  ) {}

  /**
   * Records steps, and forgets those of containers that are gone. It runs after the answer, so that a request does not
   * wait for it.
   */
  note(events: readonly DomainEvent[]): void {
    for (const event of events) {
      if (!('steps' in event) || !event.steps) continue;
      const { steps } = event;
      const { containerId, podUid, container } = event.subject;
      const key = keyOf({ podUid, containerName: container });
      if (containerId !== undefined)
        setImmediate(() =>
          this.faults.contain('keeping the steps of', () => this.keep(containerId, key, steps), containerId),
        );
      else setImmediate(() => this.faults.contain('keeping planned steps', () => this.keepPlanned(key, steps)));
    }
  }

  /** Empty when it is not known. */
  stepsOf(containerId: string): readonly AllocationStep[] {
    return this.stepsById.get(containerId) ?? [];
  }

  /** A container that has what was planned for it has taken no steps of its own. */
  private keep(containerId: string, key: AssignmentKey, steps: readonly AllocationStep[]): void {
    this.stepsById.set(containerId, steps.length > 0 ? plain(steps) : (this.stepsOfPlanned.get(key) ?? []));
    for (const id of this.stepsById.keys()) if (!this.model.containers.has(id)) this.stepsById.delete(id);
    this.stepsOfPlanned.delete(key);
  }

  private keepPlanned(key: AssignmentKey, steps: readonly AllocationStep[]): void {
    this.stepsOfPlanned.set(key, plain(steps));
    for (const each of this.stepsOfPlanned.keys())
      if (each !== key && !this.model.assignments.get(each)?.planned) this.stepsOfPlanned.delete(each);
  }
}

/** Steps make their texts when they are read, from all that the allocation looked at: that must not live on. */
function plain(steps: readonly AllocationStep[]): readonly AllocationStep[] {
  return steps.map(({ rule, took, because }) => ({ rule, took, because }));
}
