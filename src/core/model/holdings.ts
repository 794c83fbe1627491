import { CpuSet } from '../cpuset';
import type { Assignment } from './assignment';
import { CpuCounts } from './cpu-counts';
import { KINDS } from './pool-view';

/** NUMA nodes that assignments follow. */
export interface FollowedNodes {
  readonly nodes: CpuSet;
  /** The number of assignments that follow just these nodes. */
  readonly followers: number;
  /** Whole CPUs that these asked for together. */
  readonly requested: number;
}

/** The CPUs and nodes that all assignments hold together. */
export interface HoldingsView {
  /** CPUs that are held alone, offline ones included. */
  readonly exclusive: CpuSet;
  /** CPUs that are held beside shared containers, offline ones included. */
  readonly nonExclusive: CpuSet;
  /** Every set of nodes once, in an order that depends on the sets only. */
  readonly followed: readonly FollowedNodes[];
  /** Assignments for containers that are still to come. */
  readonly planned: Iterable<Assignment>;
  /** Assignments of containers that have exited. */
  readonly idle: Iterable<Assignment>;
  /** The number of assignments that hold this CPU beside shared containers: containers of one pod may share theirs. */
  countNonExclusive(cpu: number): number;
}

/**
 * Sums over all assignments, kept up to date with each write. A node has thousands of assignments: to add them up for
 * each decision would cost the square of that.
 */
export class Holdings implements HoldingsView {
  private readonly exclusiveCounts = new CpuCounts();
  private readonly nonExclusiveCounts = new CpuCounts();
  private readonly followedByNodes = new Map<string, FollowedNodes>();
  private readonly plannedByKey = new Map<string, Assignment>();
  private readonly idleByKey = new Map<string, Assignment>();
  private listed: readonly FollowedNodes[] | undefined;

  get exclusive(): CpuSet {
    return this.exclusiveCounts.cpus;
  }

  get nonExclusive(): CpuSet {
    return this.nonExclusiveCounts.cpus;
  }

  get followed(): readonly FollowedNodes[] {
    return (this.listed ??= [...this.followedByNodes].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, each]) => each));
  }

  get planned(): Iterable<Assignment> {
    return this.plannedByKey.values();
  }

  get idle(): Iterable<Assignment> {
    return this.idleByKey.values();
  }

  countNonExclusive(cpu: number): number {
    return this.nonExclusiveCounts.of(cpu);
  }

  follow(before: Assignment | undefined, after: Assignment | undefined, key: string): void {
    if (before) this.change(before, -1);
    if (before?.planned) this.plannedByKey.delete(key);
    else if (before) this.idleByKey.delete(key);
    if (after) this.change(after, 1);
    if (after?.planned) this.plannedByKey.set(key, after);
    else if (after?.containerId === null) this.idleByKey.set(key, after);
  }

  private change({ kind, cpus, nodes = CpuSet.empty, requested }: Assignment, by: 1 | -1): void {
    const { claim } = KINDS[kind];
    if (claim === 'exclusive') this.exclusiveCounts.change(cpus, by);
    else if (claim === 'non-exclusive') this.nonExclusiveCounts.change(cpus, by);
    else this.changeFollowers(nodes, requested, by);
  }

  private changeFollowers(nodes: CpuSet, requested: number, by: 1 | -1): void {
    const key = nodes.toString();
    const before = this.followedByNodes.get(key) ?? { nodes, followers: 0, requested: 0 };
    const followers = before.followers + by;
    if (followers === 0) this.followedByNodes.delete(key);
    else this.followedByNodes.set(key, { nodes, followers, requested: before.requested + by * requested });
    this.listed = undefined;
  }
}
