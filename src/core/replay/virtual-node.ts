import type { Assignment } from '../model/assignment';
import type { Brought } from '../model/brought';
import type { PodLevel } from '../model/pod-level';
import type { Container, Pod } from '../model/container';
import type { NodeEvent, RuntimeAnswer } from '../model/events';
import { NodeModel } from '../model/node-model';
import type { NodeView } from '../model/node-view';
import type { PodSpec } from '../model/pod-spec';
import type { Settings } from '../model/settings';
import type { SpecSource } from '../model/spec-book';
import type { Move } from '../plan/plan-moves';
import type { Topology } from '../topology';
import {
  changeTopology,
  Draft,
  handle,
  planChanges,
  retryPending,
  type DomainEvent,
  type LiveCpusets,
} from '../transition';

/** The consequences of an event. */
export interface Effect {
  readonly answer: RuntimeAnswer;
  /** Containers that were moved, pause containers left out. */
  readonly moved: number;
  readonly reported: readonly DomainEvent[];
}

/** The knowledge of a start of the daemon before the runtime has sent anything. */
export interface Remembered {
  readonly assignments: Iterable<Assignment>;
  readonly keptSpecs: Iterable<PodSpec>;
  readonly brought: Iterable<Brought>;
  readonly podLevel: Iterable<PodLevel>;
  readonly source: SpecSource;
}

/** All that a daemon knows at some moment. */
export interface Moment extends Remembered {
  readonly pods: Iterable<Pod>;
  readonly containers: Iterable<Container>;
  readonly specs: Iterable<PodSpec>;
  /** The uids of pods whose CPUs are still to be planned, and the time since which. */
  readonly unplanned: ReadonlyMap<string, string>;
  readonly synchronized: boolean;
}

/**
 * A node without a kernel, a runtime and a disk: it decides as the daemon does, and each move counts as carried out at
 * once. For questions about what would be, or what would have been.
 */
export class VirtualNode {
  private model: NodeModel;

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
    let moved = this.carryOut(moves);
    if (draft.isCut) moved += this.servePending(at);
    return { answer, moved, reported: draft.reported };
  }

  /** The daemon starts: all but this is forgotten. */
  restart(remembered: Remembered): void {
    this.model = this.remember(remembered);
    for (const spec of remembered.keptSpecs) this.model.apply({ kind: 'put-spec', spec });
  }

  /** Everything is as it was at some moment. */
  begin(moment: Moment): void {
    const model = this.remember(moment);
    for (const pod of moment.pods) model.apply({ kind: 'put-pod', pod });
    for (const container of moment.containers) model.apply({ kind: 'put-container', container });
    for (const spec of moment.specs) model.apply({ kind: 'put-spec', spec });
    for (const [uid, since] of moment.unplanned) model.apply({ kind: 'put-unplanned', uid, since });
    model.apply({ kind: 'set-synchronized', synchronized: moment.synchronized });
    this.model = model;
  }

  private remember({ assignments, keptSpecs, brought, podLevel, source }: Remembered): NodeModel {
    const model = new NodeModel(this.model.topology, this.model.settings);
    for (const assignment of assignments) model.apply({ kind: 'put-assignment', assignment });
    for (const spec of keptSpecs) model.apply({ kind: 'keep-spec', spec });
    for (const each of brought) model.apply({ kind: 'put-brought', brought: each });
    for (const each of podLevel) model.apply({ kind: 'put-pod-level', podLevel: each });
    model.apply({ kind: 'set-spec-source', source });
    return model;
  }

  /**
   * Other options of the operator, which hold for new decisions, or CPUs that went offline or came online. Returns the
   * number of moved containers.
   */
  setRules(settings: Settings, topology: Topology, at: string): number {
    const draft = new Draft(this.model, at);
    draft.put({ kind: 'set-settings', settings });
    const moved = this.carryOut(changeTopology(draft, topology));
    return draft.isCut ? moved + this.servePending(at) : moved;
  }

  /** The daemon serves those who lack CPUs in several transactions, when they are many. */
  private servePending(at: string): number {
    const tried = new Set<string>();
    let moved = 0;
    for (let isCut = true; isCut;) {
      const draft = new Draft(this.model, at);
      retryPending(draft, tried);
      moved += this.carryOut(planChanges(draft));
      ({ isCut } = draft);
    }
    return moved;
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
