import { sumPodCpus, type ContainerKind } from '../inference/pod-cpus';
import { KINDS } from '../model/pool-view';
import type { AssignmentKind } from '../model/assignment';
import { POLICY_TABLE } from '../model/policies';
import type { TopologyManagerPolicy } from '../model/settings';
import { sum } from '../sum';
import { plural } from '../text';
import type { NodeResources } from './node-resources';

/** The part of a node's published data that decides whether a pod fits. */
export interface PublishedRoom extends Pick<NodeResources, 'cpusPerCore' | 'topologyScope'> {
  /** NUMA nodes. */
  readonly zones: readonly { readonly capacity: number; readonly available: number }[];
  /** The policy that applies to a request that does not fit into one zone. */
  readonly topologyPolicy: TopologyManagerPolicy;
}

/** A container that is entitled to CPUs. */
export interface ContainerWish {
  readonly name: string;
  readonly kind: ContainerKind;
  readonly policy: AssignmentKind;
  readonly count: number;
}

/**
 * Tells what keeps a pod's containers from their CPUs on a node, a sentence for each obstacle; none when they fit. For one container it
 * is as the node itself would decide; several containers may fit where this finds an obstacle, and never the other way round unless
 * the node changes. Pure.
 */
export function findObstacles(room: PublishedRoom, wishes: readonly ContainerWish[]): string[] {
  const alone = wishes.filter(({ policy }) => KINDS[policy].claim !== 'numa-nodes');
  const needed = sumPodCpus(alone.map(({ kind, count }) => ({ kind, cpus: count })));
  const free = sum(room.zones.map(({ available }) => available));
  const own = alone.filter(({ policy }) => POLICY_TABLE[policy].scheduledFor === 'container');
  return [
    ...(needed > free ? [`${plural(needed, 'CPU')} ${needed === 1 ? 'is' : 'are'} needed, ${free} free`] : []),
    ...own.flatMap((wish) => findTornCore(room, wish)),
    ...findMisalignment(room, { own, together: needed }),
  ];
}

function findTornCore({ cpusPerCore }: PublishedRoom, { name, count }: ContainerWish): string[] {
  if (count % cpusPerCore === 0) return [];
  return [`whole cores of ${cpusPerCore} CPUs are given, and ${nameOf(name)}${count} is no multiple of it`];
}

/** Lists the refusals of a strict topology manager. It decides on each container of its own, or on all CPUs of the pod together. */
function findMisalignment(
  room: PublishedRoom,
  { own, together }: { readonly own: readonly ContainerWish[]; readonly together: number },
): string[] {
  const { topologyPolicy, topologyScope } = room;
  if (topologyPolicy !== 'single-numa-node' && topologyPolicy !== 'restricted') return [];
  if (own.length === 0) return [];
  if (topologyScope === 'pod') return findZones(room, { name: '', count: together });
  const alone = own.flatMap((wish) => findZones(room, wish));
  return alone.length > 0 ? alone : findNoPlaceTogether(room, own);
}

/** A request has to lie in the fewest zones that could have it on an empty machine; with `single-numa-node` in one. */
function findZones(
  { zones, topologyPolicy }: PublishedRoom,
  { name, count }: Pick<ContainerWish, 'name' | 'count'>,
): string[] {
  const capacities = zones.map(({ capacity }) => capacity).sort((a, b) => b - a);
  let [fewest, size] = [0, 0];
  while (size < count && fewest < capacities.length) size += capacities[fewest++]!;
  if (topologyPolicy === 'single-numa-node') fewest = 1;
  const most = zones.map(({ available }) => available).sort((a, b) => b - a);
  const room = sum(most.slice(0, fewest));
  if (count <= room) return [];
  const where = fewest === 1 ? 'one NUMA node' : `${fewest} NUMA nodes`;
  return [
    `${nameOf(name)}${plural(count, 'CPU')} in ${where} ${count === 1 ? 'is' : 'are'} needed, the most is ${room}`,
  ];
}

/** Each container has a zone, and all together have none: the largest is placed first, where least is left. */
function findNoPlaceTogether({ zones }: PublishedRoom, own: readonly ContainerWish[]): string[] {
  const left = zones.map(({ available }) => available);
  const apps = own.filter(({ kind }) => kind !== 'init').sort((a, b) => b.count - a.count);
  for (const { name, count } of apps) {
    const fitting = left.filter((free) => free >= count);
    if (fitting.length === 0) {
      if (count > Math.max(...zones.map(({ capacity }) => capacity))) continue; // it lies in several zones
      return [`${nameOf(name)}no NUMA node has ${plural(count, 'CPU')} beside the pod's other containers`];
    }
    left[left.indexOf(Math.min(...fitting))]! -= count;
  }
  return [];
}

const nameOf = (container: string): string => (container === '' ? '' : `${container}: `);
