import { CpuSet } from '../cpuset';
import { isNear, type MemoryNode, type Topology } from '../topology';
import type { Settings } from '../model/settings';
import { findUnmet, listNeeds, MEMORY, type MemoryNeed } from './memory-needs';
import type { PinRequest, Snapshot } from './policy';
import { compareBy } from '../compare-by';

export interface MemoryChoice {
  /** Empty = memory is left alone. */
  readonly mems: CpuSet;
  /** For the operator; empty when there is nothing to say. */
  readonly because: readonly string[];
}

const NOTHING: MemoryChoice = { mems: CpuSet.empty, because: [] };

/**
 * The memory nodes for a container on these CPUs: those that its request brought, as they are. Else those that are
 * local to its CPUs. Where these have less free than the container's limits of memory and huge pages, others that have
 * some are added until it fits: the nearest that have CPUs first, then those without CPUs that the operator allows, the
 * faster tier before the slower. If all do not suffice, it may use them all. The memory of a GPU is never among them.
 * Empty when memory does not follow CPUs, or the memory of the machine is not known.
 */
export function chooseMemoryNodes(
  snapshot: Snapshot,
  cpus: CpuSet,
  request: Pick<PinRequest, 'memoryBytes' | 'hugePages'>,
): MemoryChoice {
  const { topology, settings, brought, leavesMemory } = snapshot;
  if (brought?.mems) return { mems: brought.mems, because: [explainBrought(topology, cpus, brought.mems)] };
  if (settings.memoryNodes !== 'follow' || leavesMemory) return NOTHING;
  const home = CpuSet.of(topology.numaNodes.filter((node) => node.cpus.overlaps(cpus)).map(({ id }) => id));
  const local = CpuSet.of([...home].flatMap((id) => topology.localMemory.get(id) ?? []));
  if (!topology.memoryNodes.some(({ memoryBytes }) => memoryBytes > 0)) return NOTHING;

  const hosts = hostMemory(topology);
  const byNearness = compareBy<MemoryNode>(
    ({ id }) => Number(!local.has(id)),
    ({ id }) => Number(!hosts.has(id)),
    ({ id, tier = 0 }) => (hosts.has(id) ? 0 : tier),
    (node) => distanceTo(home, node),
    ({ id }) => id,
  );
  const ordered = topology.memoryNodes
    .filter((node) => hosts.has(node.id) || isAllowed(node, settings.memoryNodesWithoutCpus))
    .sort(byNearness);
  if (ordered.length === 0) return NOTHING;
  const needs = listNeeds(snapshot, request);
  const chosen = chooseUntilMet(needs, ordered, local);
  const mems = CpuSet.of(chosen.map(({ id }) => id));
  const unmet = findUnmet(needs, ordered.filter(({ id }) => local.has(id))); // prettier-ignore
  return { mems, because: [`memory nodes ${mems.toString()}${explain(topology, { home, local, cpus, mems, unmet })}`] };
}

/**
 * The nodes to start with, and of the others those that have something of what is missing. All, when they can't meet
 * the needs together.
 */
function chooseUntilMet(
  needs: readonly MemoryNeed[],
  ordered: readonly MemoryNode[],
  local: CpuSet,
): readonly MemoryNode[] {
  const chosen: MemoryNode[] = [];
  for (const node of ordered) {
    const isFirst = chosen.length === 0 || local.has(node.id);
    if (isFirst || findUnmet(needs, chosen).some(({ free }) => free.get(node.id)! > 0)) chosen.push(node);
  }
  return findUnmet(needs, chosen).length === 0 ? chosen : ordered;
}

/** Nodes with memory that have CPUs, and those that are local to CPUs without memory of their own. */
function hostMemory({ memoryNodes, localMemory }: Topology): CpuSet {
  const own = memoryNodes.filter(({ memoryBytes, cpus }) => memoryBytes > 0 && !cpus.isEmpty);
  return CpuSet.of([...own.map(({ id }) => id), ...[...localMemory.values()].flat()]);
}

function isAllowed(
  { id, memoryBytes, isOfGpu }: MemoryNode,
  allowed: Settings['memoryNodesWithoutCpus'] = CpuSet.empty,
): boolean {
  return memoryBytes > 0 && !isOfGpu && (allowed === 'all' || allowed.has(id));
}

/** 0 for a node of the container's CPUs, else the kernel's distance from the nearest of those. */
function distanceTo(home: CpuSet, node: MemoryNode): number {
  if (home.has(node.id)) return 0;
  return Math.min(...[...home].map((id) => node.distances.get(id) ?? Number.MAX_SAFE_INTEGER));
}

/** The reason for memory nodes that the request of a container on these CPUs brought. */
function explainBrought(topology: Topology, cpus: CpuSet, mems: CpuSet): string {
  const brought = `memory nodes ${mems.toString()}, which its request brought`;
  return isNear(topology, cpus, mems) ? brought : `${brought} and where no CPUs could be given`;
}

interface Choice {
  readonly home: CpuSet;
  readonly local: CpuSet;
  readonly cpus: CpuSet;
  readonly mems: CpuSet;
  /** The needs that its own nodes can't meet. */
  readonly unmet: readonly MemoryNeed[];
}

function explain({ memoryNodes }: Topology, { home, local, cpus, mems, unmet }: Choice): string {
  const isOwn = memoryNodes.some((node) => local.has(node.id) && (home.has(node.id) || node.cpus.overlaps(cpus)));
  const withoutCpus = CpuSet.of(
    memoryNodes.filter(({ id, cpus: set }) => mems.minus(local).has(id) && set.isEmpty).map(({ id }) => id),
  );
  const huge = unmet.some(({ resource }) => resource !== MEMORY);
  const pages = huge ? unmet.map(({ resource }) => resource) : [];
  const reasons = [
    ...(isOwn ? [] : ['its own nodes have no memory; these are the nearest']),
    ...(mems.equals(local) || (!isOwn && mems.size === 1)
      ? []
      : [
          `widened: its own nodes have less free than its limit${pages.length > 0 ? ` of ${pages.join(' and ')}` : ''}`,
        ]),
    ...(withoutCpus.isEmpty ? [] : [`${withoutCpus.toString()} without CPUs`]),
  ];
  return reasons.length === 0 ? '' : ` (${reasons.join('; ')})`;
}
