import { CpuSet } from '../cpuset';
import type { Assignment, AssignmentKind } from './assignment';
import { CpuCounts } from './cpu-counts';
import { KINDS, type CpuClaim } from './pool-view';

/** The CPUs and nodes that the assignments of one pod hold together. */
export interface PodHoldingsView {
  /** The number of its assignments. */
  readonly count: number;
  /** The number of those for containers that are still to come. */
  readonly planned: number;
  readonly cpus: CpuSet;
  /** The holdings of the others when `own` is left out; undefined leaves none out. */
  without(own: Assignment | undefined): HeldByOthers;
  /**
   * The set that containers of the pod share by assignments of this kind: of the assignments in use, or of all when
   * none is.
   */
  podSet(kind: AssignmentKind): { readonly cpus: CpuSet; readonly inUse: boolean };
}

export interface HeldByOthers {
  /** CPUs of containers that run, or are still to come. */
  readonly busy: CpuSet;
  /** CPUs of containers that have exited, by the claim of their assignment. */
  readonly idle: Readonly<Record<CpuClaim, CpuSet>>;
  /** The NUMA nodes that they follow. */
  readonly nodes: CpuSet;
}

/** Sums over the assignments of a pod, kept up to date with each write: a pod may have thousands of containers. */
class PodHoldings implements PodHoldingsView {
  count = 0;
  planned = 0;
  private readonly all = new CpuCounts();
  private readonly busy = new CpuCounts();
  private readonly idle = {
    exclusive: new CpuCounts(),
    'non-exclusive': new CpuCounts(),
    'numa-nodes': new CpuCounts(),
  };
  private readonly nodes = new CpuCounts();
  private readonly sets = new Map<
    AssignmentKind,
    { used: number; readonly inUse: CpuCounts; readonly all: CpuCounts }
  >();

  get cpus(): CpuSet {
    return this.all.cpus;
  }

  without(own: Assignment | undefined): HeldByOthers {
    const countsOfOwn = own && this.countsOf(own);
    const rest = (counts: CpuCounts): CpuSet => (counts === countsOfOwn ? counts.without(own!.cpus) : counts.cpus);
    const { exclusive, 'non-exclusive': nonExclusive } = this.idle;
    return {
      busy: rest(this.busy),
      idle: { exclusive: rest(exclusive), 'non-exclusive': rest(nonExclusive), 'numa-nodes': CpuSet.empty },
      nodes: own?.nodes ? this.nodes.without(own.nodes) : this.nodes.cpus,
    };
  }

  podSet(kind: AssignmentKind): { readonly cpus: CpuSet; readonly inUse: boolean } {
    const set = this.sets.get(kind);
    if (!set) return { cpus: CpuSet.empty, inUse: false };
    const inUse = set.used > 0;
    return { cpus: (inUse ? set.inUse : set.all).cpus, inUse };
  }

  /** One more assignment, or one less. */
  change(assignment: Assignment, by: 1 | -1): void {
    const { kind, cpus, nodes, scope, planned, containerId } = assignment;
    this.count += by;
    if (planned) this.planned += by;
    this.all.change(cpus, by);
    this.countsOf(assignment).change(cpus, by);
    if (nodes) this.nodes.change(nodes, by);
    if (scope !== 'pod') return;
    const set = this.sets.get(kind) ?? { used: 0, inUse: new CpuCounts(), all: new CpuCounts() };
    this.sets.set(kind, set);
    set.all.change(cpus, by);
    if (containerId === null) return;
    set.used += by;
    set.inUse.change(cpus, by);
  }

  private countsOf({ kind, containerId, planned }: Assignment): CpuCounts {
    return containerId === null && !planned ? this.idle[KINDS[kind].claim] : this.busy;
  }
}

/** The holdings of each pod that has an assignment. */
export class HoldingsByPod {
  private readonly byUid = new Map<string, PodHoldings>();
  private readonly none = new PodHoldings();

  of(podUid: string): PodHoldingsView {
    return this.byUid.get(podUid) ?? this.none;
  }

  follow(before: Assignment | undefined, after: Assignment | undefined): void {
    if (before) this.change(before, -1);
    if (after) this.change(after, 1);
  }

  private change(assignment: Assignment, by: 1 | -1): void {
    const { podUid } = assignment;
    const ofPod = this.byUid.get(podUid) ?? new PodHoldings();
    this.byUid.set(podUid, ofPod);
    ofPod.change(assignment, by);
    if (ofPod.count === 0) this.byUid.delete(podUid);
  }
}
