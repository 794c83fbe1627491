import { CpuSet } from '../cpuset';
import { chooseMemoryNodes } from './memory-nodes';
import type { Decision, Policy, Snapshot } from './policy';
import { plural } from '../plural';

/**
 * Crane's numa policy: the container shares CPUs, but only those of its NUMA nodes. It has no CPUs of its own; its set
 * follows the shared pool there.
 *
 * The scheduler's nodes where it chose; else those that it had, or that its pod has, if they hold what it asks for; else
 * as few as possible, and of these the ones where the least is left over. What others asked for on a node counts, so that
 * not all end up on one; if there is too little for everybody, the emptiest nodes.
 */
export const numaPolicy: Policy = (snapshot, { count, memoryBytes, scheduled }) => {
  if (scheduled?.size === 0) return { kind: 'share', because: 'the scheduler chose no CPUs for the pod' };
  const rooms = findRooms(snapshot);
  const { ownNodes, nodesOfPod } = snapshot.followers;
  if (scheduled) return follow(CpuSet.of(scheduled.keys()), 'as the scheduler chose');
  if (holds(rooms, ownNodes, count, 'shared')) return follow(ownNodes, 'as before');
  if (holds(rooms, nodesOfPod, count, 'room')) return follow(nodesOfPod, 'with the rest of its pod');
  const fitting = chooseFewest(rooms, count) ?? chooseEmptiest(rooms, count);
  return fitting ? follow(fitting, 'the fewest that hold what it asks for') : refuse(count, rooms);

  function follow(nodes: CpuSet, why: string): Decision {
    const cpus = CpuSet.unionOf(rooms.filter(({ id }) => nodes.has(id)).map((room) => room.cpus));
    if (cpus.isEmpty) {
      const because = `nothing is shared on NUMA nodes ${nodes.toString()} but reserved CPUs (${why})`;
      return { kind: 'refuse', code: 'RESOURCE_EXHAUSTED', because };
    }
    const memory = chooseMemoryNodes(snapshot, cpus, memoryBytes);
    const where = `shares the CPUs of NUMA ${nodes.size === 1 ? 'node' : 'nodes'} ${nodes.toString()}, ${why}`;
    const because = memory.because === '' ? where : `${where}; ${memory.because}`;
    return { kind: 'pin', assignmentKind: 'numa', cpus: CpuSet.empty, nodes, mems: memory.mems, because, steps: [] };
  }
};

/** What a NUMA node has for those who share there. */
interface Room {
  readonly id: number;
  readonly cpus: CpuSet;
  readonly shared: number;
  /** How many of these nobody has asked for; below 0 where they asked for more than there is. */
  readonly room: number;
}

function findRooms({ topology, settings, sharedPool, followers }: Snapshot): Room[] {
  const pool = sharedPool.minus(settings.reserved);
  return topology.numaNodes.map(({ id, cpus }) => {
    const there = pool.intersect(cpus);
    return { id, cpus: there, shared: there.size, room: there.size - (followers.demand.get(id) ?? 0) };
  });
}

function holds(rooms: readonly Room[], nodes: CpuSet, count: number, by: 'shared' | 'room'): boolean {
  return !nodes.isEmpty && sum(rooms.filter(({ id }) => nodes.has(id)).map((room) => room[by])) >= count;
}

/** The roomiest nodes until the last one suffices, and for that the one that fits best. */
function chooseFewest(rooms: readonly Room[], count: number): CpuSet | undefined {
  const roomiest = rooms.filter(({ room }) => room > 0).sort((a, b) => b.room - a.room || a.id - b.id);
  const chosen: Room[] = [];
  for (const next of roomiest) {
    const missing = count - sum(chosen.map(({ room }) => room));
    if (next.room >= missing) {
      const sufficient = roomiest.filter((other) => !chosen.includes(other) && other.room >= missing);
      const best = sufficient.reduce((a, b) => (b.room < a.room ? b : a));
      return CpuSet.of([...chosen, best].map(({ id }) => id));
    }
    chosen.push(next);
  }
  return undefined;
}

function chooseEmptiest(rooms: readonly Room[], count: number): CpuSet | undefined {
  const chosen: Room[] = [];
  for (const next of rooms.filter(({ shared }) => shared > 0).sort((a, b) => b.room - a.room || a.id - b.id)) {
    chosen.push(next);
    if (sum(chosen.map(({ shared }) => shared)) >= count) return CpuSet.of(chosen.map(({ id }) => id));
  }
  return undefined;
}

function refuse(count: number, rooms: readonly Room[]): Decision {
  const because = `asked for ${plural(count, 'CPU')} of few NUMA nodes; all nodes together share ${sum(rooms.map(({ shared }) => shared))}, reserved ones not counted`;
  return { kind: 'refuse', code: 'RESOURCE_EXHAUSTED', because };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
