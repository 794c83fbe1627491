import type { NodeEvent, RuntimeAnswer } from '../model/events';
import { NodeModel } from '../model/node-model';
import type { NodeView } from '../model/node-view';
import type { Settings } from '../model/settings';
import type { Move } from '../plan/plan-moves';
import type { Topology } from '../topology';
import { Draft, handle, planChanges, type DomainEvent, type LiveCpusets } from '../transition';

/** What an event led to. */
export interface Effect {
  readonly answer: RuntimeAnswer;
  /** Containers that were moved, pause containers left out. */
  readonly moved: number;
  readonly reported: readonly DomainEvent[];
}

/**
 * A node without a kernel, a runtime and a disk: it decides as the daemon does, and each move counts as carried out at once. For questions
 * about what would be, or what would have been.
 */
export class VirtualNode {
  private readonly model: NodeModel;

  constructor(topology: Topology, settings: Settings) {
    this.model = new NodeModel(topology, settings);
  }

  get view(): NodeView {
    return this.model;
  }

  /** @param at the time of the event, RFC 3339. `live`: cpusets in the kernel, for an event that compares with it */
  send(event: NodeEvent, at: string, live?: LiveCpusets): Effect {
    const draft = new Draft(this.model, at);
    const { answer, moves } = handle(draft, event, live);
    return { answer, moved: this.carryOut(moves), reported: draft.reported };
  }

  /** Other options of the operator: they hold for new decisions. */
  setSettings(settings: Settings): void {
    this.model.apply({ kind: 'set-settings', settings });
  }

  /** CPUs went offline, or came online. */
  setTopology(topology: Topology, at: string): number {
    const draft = new Draft(this.model, at);
    draft.put({ kind: 'set-topology', topology });
    return this.carryOut(planChanges(draft));
  }

  private carryOut(moves: readonly Move[]): number {
    let moved = 0;
    for (const { containerId, to } of moves) {
      const container = this.model.allContainers.get(containerId);
      if (!container) continue;
      this.model.apply({ kind: 'put-container', container: { ...container, applied: to } });
      if (!container.pause) moved += 1;
    }
    return moved;
  }
}
