import type {
  AssignmentStatus,
  ContainerStatus,
  DriftTally,
  ForeignLoad,
  IdleAssignment,
} from '../../admin/model/status';
import type { ExclusiveResources } from '../../admin/model/pod-resources';
import type { Assignment } from '../../core/model/assignment';
import type { Container } from '../../core/model/container';
import { isKeptByApiServer } from '../../core/model/kept-cpus';
import type { NodeView } from '../../core/model/node-view';
import { listPodResources } from './pod-resources';
import { showAssignment, showContainer, type ContainerSources } from './show-container';
import type { VerdictStore } from './verdict-store';

/** The containers that have a file with their CPUs. */
export interface ContainersWithIdentity {
  /** Changes with `has`. */
  readonly revision: number;
  has(container: Container): boolean;
}

/** The drifts of containers. */
export interface DriftSource {
  /** Changes with `get`. */
  readonly revision: number;
  get(containerId: string): DriftTally | undefined;
}

export interface ShownModelParts {
  readonly model: NodeView;
  readonly verdicts: VerdictStore;
  /** Absent where drifts are not counted. */
  readonly drifts?: DriftSource;
  /** By the ids of containers; another object after each audit. Absent without the audit. */
  readonly foreign?: () => ReadonlyMap<string, ForeignLoad>;
  readonly identities?: ContainersWithIdentity;
  readonly now: () => string;
}

/**
 * The model and the verdicts as status shows them. Nothing is made twice: what has not changed since the last look is
 * the same object as then, lists included, so that an encoder or a comparison can rely on identity. A look without a
 * change in between costs a comparison of two numbers.
 */
export class ShownModel {
  private shownById = new Map<string, ContainerSources & { readonly shown: ContainerStatus }>();
  private readonly shownAssignments = new WeakMap<Assignment, AssignmentStatus>();
  private readonly shownIdle = new WeakMap<AssignmentStatus, IdleAssignment>();

  readonly containers: () => readonly ContainerStatus[];
  /** Idle ones included. */
  readonly assignments: () => readonly AssignmentStatus[];
  readonly idle: () => readonly IdleAssignment[];
  readonly podResources: () => ExclusiveResources;

  constructor(private readonly parts: ShownModelParts) {
    const { model, verdicts, drifts, foreign, identities } = parts;
    const looks = countChanges(() => foreign?.());
    const ofModel = (): string => `${model.revision}`;
    this.containers = remember(
      () => `${model.revision}/${verdicts.revision}/${drifts?.revision ?? 0}/${looks()}/${identities?.revision ?? 0}`,
      () => this.listContainers(),
      sameItems,
    );
    this.assignments = remember(ofModel, () => this.listAssignments(), sameItems);
    this.idle = remember(ofModel, () => this.listIdle(), sameItems);
    this.podResources = remember(ofModel, () => listPodResources(model));
  }

  private listContainers(): readonly ContainerStatus[] {
    const { model, verdicts, drifts, foreign, identities, now } = this.parts;
    const loads = foreign?.();
    const before = this.shownById;
    this.shownById = new Map();
    const { topology, settings } = model;
    const isPoolOverlapping = model.sharedPool.overlaps(model.exclusive);
    for (const container of model.allContainers.values()) {
      const sources: ContainerSources = {
        container,
        pod: model.pods.get(container.sandboxId),
        assignment: model.assignmentFor(container.podUid, container.name),
        entry: verdicts.get(container.id),
        drift: drifts?.get(container.id),
        foreign: loads?.get(container.id),
        topology,
        settings,
        isPoolOverlapping,
        hasIdentity: !container.pause && identities?.has(container) === true,
      };
      const known = before.get(container.id);
      const isKnown = known !== undefined && sameSources(known, sources);
      this.shownById.set(container.id, isKnown ? known : { ...sources, shown: showContainer(model, sources, now) });
    }
    return Array.from(this.shownById.values(), ({ shown }) => shown);
  }

  private listAssignments(): readonly AssignmentStatus[] {
    return [...this.parts.model.assignments.values()].map((assignment) => this.showAssignment(assignment));
  }

  private listIdle(): readonly IdleAssignment[] {
    const idle = [...this.parts.model.assignments.values()].filter(({ containerId }) => containerId === null);
    return idle.map((assignment) => {
      const shown = this.showAssignment(assignment);
      return getOrMake(this.shownIdle, shown, () => {
        const { containerId: _none, ...rest } = shown;
        return rest;
      });
    });
  }

  private showAssignment(assignment: Assignment): AssignmentStatus {
    const keptByApiServer = isKeptByApiServer(this.parts.model, assignment);
    const known = this.shownAssignments.get(assignment);
    if (known && (known.keptByApiServer ?? false) === keptByApiServer) return known;
    const shown = showAssignment(assignment, keptByApiServer);
    this.shownAssignments.set(assignment, shown);
    return shown;
  }
}

/**
 * The value of the version, made once for each; one that is the same as before in another version stays the same
 * object.
 */
function remember<T>(version: () => string, make: () => T, isSame?: (a: T, b: T) => boolean): () => T {
  let last: { readonly version: string; readonly value: T } | undefined;
  return () => {
    const current = version();
    if (last?.version !== current) {
      const value = make();
      last = { version: current, value: last && isSame?.(last.value, value) ? last.value : value };
    }
    return last.value;
  };
}

/** Counts how often another object is read. */
function countChanges(read: () => object | undefined): () => number {
  let [last, changes] = [read(), 0];
  return () => {
    const current = read();
    if (current !== last) [last, changes] = [current, changes + 1];
    return changes;
  };
}

function getOrMake<K extends object, V>(known: WeakMap<K, V>, key: K, make: () => V): V {
  const value = known.get(key) ?? make();
  known.set(key, value);
  return value;
}

function sameItems<T>(a: readonly T[], b: readonly T[]): boolean {
  return a.length === b.length && a.every((item, i) => item === b[i]);
}

function sameSources(a: ContainerSources, b: ContainerSources): boolean {
  return (
    a.container === b.container &&
    a.pod === b.pod &&
    a.assignment === b.assignment &&
    a.entry === b.entry &&
    a.drift === b.drift &&
    a.foreign === b.foreign &&
    a.topology === b.topology &&
    a.settings === b.settings &&
    a.isPoolOverlapping === b.isPoolOverlapping &&
    a.hasIdentity === b.hasIdentity
  );
}
