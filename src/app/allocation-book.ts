import type { AllocationStep } from '../core/allocation/take';
import type { NodeView } from '../core/model/node-model';
import type { Note } from '../core/transition';
import type { Faults } from './faults';

/** How the CPUs of each living container were chosen. Not kept on disk: after a restart only the reason is known. */
export class AllocationBook {
  private readonly stepsById = new Map<string, readonly AllocationStep[]>();

  constructor(
    private readonly model: Pick<NodeView, 'containers'>,
    private readonly faults: Faults,
  ) {}

  /** Costs a request nothing: steps are written down, and those of containers that are gone forgotten, when it was answered. */
  note(notes: readonly Note[]): void {
    for (const { fields, steps } of notes) {
      const { containerId } = fields;
      if (steps && typeof containerId === 'string')
        setImmediate(() =>
          this.faults.contain('keeping the steps of', () => this.keep(containerId, steps), containerId),
        );
    }
  }

  /** Empty when it is not known. */
  stepsOf(containerId: string): readonly AllocationStep[] {
    return this.stepsById.get(containerId) ?? [];
  }

  private keep(containerId: string, steps: readonly AllocationStep[]): void {
    // Steps make their texts when they are read, from all that the allocation looked at: that must not live on.
    const plain = steps.map(({ rule, took, because }) => ({ rule, took, because }));
    this.stepsById.set(containerId, plain);
    for (const id of this.stepsById.keys()) if (!this.model.containers.has(id)) this.stepsById.delete(id);
  }
}
