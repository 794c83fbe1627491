import { CpuSet } from '../cpuset';
import { chooseMemoryNodes } from './memory-nodes';
import type { Decision, Grant, Snapshot } from './policy';
import { plural } from '../text';
import { sum } from '../sum';
import { nodesNear } from '../topology';

/**
 * Crane's numa policy: the container shares CPUs, but only those of its NUMA nodes. It has no CPUs of its own; its set
 * follows the shared pool there.
 *
 * The scheduler's nodes where it chose; else those that it had, or that its pod has, if they hold what it asks for;
 * else as few as possible, and of these the ones where the least is left over. The requests of other followers of a
 * node count, so that not all end up on one; if no nodes suffice, the emptiest ones. A container that runs keeps its
 * nodes, and gets more. The nodes of CPUs and memory that the request brought come before all others.
 */
export const grantNumaNodes: Grant = (snapshot, request, kind) => {
  const { count, scheduled, keepsOwn } = request;
  if (scheduled?.size === 0) return { kind: 'share', because: 'the scheduler chose no CPUs for the pod' };
  const capacities = listCapacities(snapshot);
  const { ownNodes, nodesOfPod } = snapshot.followers;
  const home = listHome(snapshot, capacities);
  if (scheduled) return follow(CpuSet.of(scheduled.keys()), 'as the scheduler chose');
  const mayKeep = keepsOwn || home.some(({ id }) => ownNodes.has(id));
  if (mayKeep && suffice(capacities, ownNodes, count, 'shared')) return follow(ownNodes, 'as before');
  if (keepsOwn)
    return follow(addNodes(capacities, ownNodes, count), 'its own and the fewest more that hold what it asks for');
  if (suffice(home, nodesOfPod, count, 'free')) return follow(nodesOfPod, 'with the rest of its pod');
  const fitting = choose(home, count) ?? (choose(capacities, count) && addNodes(capacities, idsOf(home), count));
  return fitting ? follow(fitting, 'the fewest that hold what it asks for') : refuse(count, capacities);

  function follow(nodes: CpuSet, why: string): Decision {
    const cpus = CpuSet.unionOf(capacities.filter(({ id }) => nodes.has(id)).map((node) => node.cpus));
    if (cpus.isEmpty) {
      const because = `nothing is shared on NUMA nodes ${nodes.toString()} but reserved CPUs (${why})`;
      return { kind: 'refuse', code: 'RESOURCE_EXHAUSTED', because };
    }
    const { mems, because: besides } = chooseMemoryNodes(snapshot, cpus, request);
    const because = `shares the CPUs of NUMA ${nodes.size === 1 ? 'node' : 'nodes'} ${nodes.toString()}, ${why}`;
    return { kind: 'pin', assignmentKind: kind, cpus: CpuSet.empty, nodes, mems, because, besides, steps: [] };
  }
};

/** The CPUs that a NUMA node has for its followers. */
interface NodeCapacity {
  readonly id: number;
  readonly cpus: CpuSet;
  readonly shared: number;
  /** The shared CPUs without those that other followers requested; below 0 when more were requested than there are. */
  readonly free: number;
}

function listCapacities({ topology, settings, sharedPool, followers }: Snapshot): NodeCapacity[] {
  const pool = sharedPool.minus(settings.reserved);
  return topology.numaNodes.map(({ id, cpus }) => {
    const there = pool.intersect(cpus);
    return { id, cpus: there, shared: there.size, free: there.size - (followers.demand.get(id) ?? 0) };
  });
}

function suffice(capacities: readonly NodeCapacity[], nodes: CpuSet, count: number, by: 'shared' | 'free'): boolean {
  return !nodes.isEmpty && sum(capacities.filter(({ id }) => nodes.has(id)).map((node) => node[by])) >= count;
}

/**
 * The nodes that share CPUs and where the request brought CPUs and memory; all nodes where it brought none, or nothing
 * is shared there.
 */
function listHome({ topology, brought }: Snapshot, capacities: readonly NodeCapacity[]): readonly NodeCapacity[] {
  const { cpus, mems } = brought ?? {};
  const bounded = narrow(capacities, (node) => cpus?.overlaps(node.cpus) === true);
  const near = mems && idsOf(nodesNear(topology, mems));
  return narrow(bounded, ({ id, shared }) => shared > 0 && near?.has(id) === true);
}

function narrow(nodes: readonly NodeCapacity[], isHome: (node: NodeCapacity) => boolean): readonly NodeCapacity[] {
  const home = nodes.filter(isHome);
  return home.length > 0 ? home : nodes;
}

function idsOf(nodes: readonly { readonly id: number }[]): CpuSet {
  return CpuSet.of(nodes.map(({ id }) => id));
}

function choose(capacities: readonly NodeCapacity[], count: number): CpuSet | undefined {
  return chooseFewest(capacities, count) ?? chooseLeastLoaded(capacities, count);
}

/** The nodes of a container that needs more than they have, and others: all that share CPUs when no few suffice. */
function addNodes(capacities: readonly NodeCapacity[], own: CpuSet, count: number): CpuSet {
  const missing = count - sum(capacities.filter(({ id }) => own.has(id)).map(({ shared }) => shared));
  const others = capacities.filter(({ id, shared }) => !own.has(id) && shared > 0);
  return own.union(choose(others, missing) ?? idsOf(others));
}

/** The nodes with the most free CPUs until the last one suffices, and for that the one that fits best. */
function chooseFewest(capacities: readonly NodeCapacity[], count: number): CpuSet | undefined {
  const byFreeDescending = capacities.filter(({ free }) => free > 0).sort((a, b) => b.free - a.free || a.id - b.id);
  const chosen: NodeCapacity[] = [];
  for (const next of byFreeDescending) {
    const missing = count - sum(chosen.map(({ free }) => free));
    if (next.free >= missing) {
      const sufficient = byFreeDescending.filter((other) => !chosen.includes(other) && other.free >= missing);
      const best = sufficient.reduce((a, b) => (b.free < a.free ? b : a));
      return CpuSet.of([...chosen, best].map(({ id }) => id));
    }
    chosen.push(next);
  }
  return undefined;
}

function chooseLeastLoaded(capacities: readonly NodeCapacity[], count: number): CpuSet | undefined {
  const chosen: NodeCapacity[] = [];
  for (const next of capacities.filter(({ shared }) => shared > 0).sort((a, b) => b.free - a.free || a.id - b.id)) {
    chosen.push(next);
    if (sum(chosen.map(({ shared }) => shared)) >= count) return CpuSet.of(chosen.map(({ id }) => id));
  }
  return undefined;
}

function refuse(count: number, capacities: readonly NodeCapacity[]): Decision {
  const because = `asked for ${plural(count, 'CPU')} of few NUMA nodes; all nodes together share ${sum(capacities.map(({ shared }) => shared))}, reserved ones not counted`;
  return { kind: 'refuse', code: 'RESOURCE_EXHAUSTED', because };
}
