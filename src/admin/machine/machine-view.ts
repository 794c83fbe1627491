import type { AssignmentStatus, TopologyStatus } from '../model/status';
import type { AssignmentKind } from '../../core/model/assignment';
import { CpuSet } from '../../core/cpuset';
import { barredCpus, type Topology } from '../../core/topology';

/** A machine, and the owners of its CPUs. */
export interface MachineView {
  /** The name of the node. Absent for a machine without a daemon, and where the daemon does not know it. */
  readonly nodeName?: string;
  readonly topology: Topology;
  readonly offline: CpuSet;
  /** Ordered by lowest CPU; owners that follow NUMA nodes are last. */
  readonly owners: readonly Owner[];
  /** Absent for a machine without a daemon. */
  readonly unowned?: Unowned;
  /** The part of the time that each CPU was busy lately, 0 to 1; absent when it was not asked for. */
  readonly busy?: ReadonlyMap<number, number>;
}

/** One container, or all containers of a pod that share their CPUs. */
export interface Owner {
  /**
   * Capital letters for running owners, small ones for exited ones; empty for an owner without CPUs. All marks are
   * equally long.
   */
  readonly mark: string;
  readonly kind: AssignmentKind;
  readonly isIdle: boolean;
  /** No container of this owner was created yet. */
  readonly isPlanned?: true;
  readonly cpus: CpuSet;
  readonly nodes: CpuSet;
  readonly namespace: string;
  readonly pod: string;
  readonly podUid: string;
  readonly containers: readonly string[];
}

/** CPUs without an owner. */
export interface Unowned {
  readonly reserved: CpuSet;
  /** Shared containers are kept off the reserved CPUs. */
  readonly strict: boolean;
  readonly sharedPool: CpuSet;
  readonly free: CpuSet;
}

/** The use of one CPU. */
export type Use = AssignmentKind | 'idle' | 'reserved' | 'shared' | 'offline' | 'barred';

/** Marks of CPUs without an owner. */
export const PLAIN_MARKS = { shared: '.', reserved: '#', offline: 'x', barred: '-' } as const;

/** The machine alone. */
export function viewMachine(topology: Topology, offline = CpuSet.empty): MachineView {
  return { topology, offline, owners: [] };
}

/** The machine with all owners. */
export function viewStatus({
  topology,
  offline,
  node,
  assignments,
}: Pick<TopologyStatus, 'topology' | 'offline' | 'assignments'> & {
  readonly node: Pick<TopologyStatus['node'], 'nodeName' | 'reserved' | 'sharedPool' | 'free'>;
}): MachineView {
  return {
    ...(node.nodeName !== undefined && { nodeName: node.nodeName }),
    topology,
    offline,
    owners: nameOwners(assignments),
    unowned: {
      reserved: node.reserved,
      strict: !node.reserved.isEmpty && !node.reserved.overlaps(node.sharedPool),
      sharedPool: node.sharedPool,
      free: node.free,
    },
  };
}

/** The use of a CPU, its owner if it has one, and its mark. */
export function findUse(
  { owners, unowned, offline, topology }: MachineView,
  cpu: number,
): { use: Use; owner?: Owner; mark: string } {
  if (offline.has(cpu)) return { use: 'offline', mark: PLAIN_MARKS.offline };
  if (barredCpus(topology).has(cpu)) return { use: 'barred', mark: PLAIN_MARKS.barred };
  const owner = owners.find(({ cpus }) => cpus.has(cpu));
  if (owner) return { use: owner.isIdle ? 'idle' : owner.kind, owner, mark: owner.mark };
  const use = unowned?.reserved.has(cpu) ? 'reserved' : 'shared';
  return { use, mark: unowned ? PLAIN_MARKS[use] : '' };
}

function nameOwners(assignments: readonly AssignmentStatus[]): Owner[] {
  const groups = new Map<string, AssignmentStatus[]>();
  for (const assignment of assignments) {
    const { podUid, container, scope, cpus } = assignment;
    const key = scope === 'pod' ? `${podUid} ${cpus.toString()}` : `${podUid}/${container}`;
    groups.set(key, [...(groups.get(key) ?? []), assignment]);
  }
  const owners = [...groups.values()].map(toOwner).sort(compareOwners);
  const marked = owners.filter(({ cpus }) => !cpus.isEmpty).length;
  const length = marked <= 26 ? 1 : marked <= 26 ** 2 ? 2 : 3;
  return owners.map((owner, index) => {
    if (owner.cpus.isEmpty) return owner;
    const letters = toLetters(index, length);
    return { ...owner, mark: owner.isIdle ? letters : letters[0]!.toUpperCase() + letters.slice(1) };
  });
}

function toOwner(group: readonly AssignmentStatus[]): Owner {
  const [{ kind, cpus, nodes, namespace, pod, podUid }] = group as [AssignmentStatus];
  return {
    mark: '',
    kind,
    isIdle: group.every(({ containerId }) => containerId === ''),
    ...(group.every(({ planned }) => planned) && { isPlanned: true as const }),
    cpus,
    nodes: nodes ?? CpuSet.empty,
    namespace,
    pod,
    podUid,
    containers: group.map(({ container }) => container).sort(),
  };
}

function compareOwners(a: Owner, b: Owner): number {
  const [first, second] = [a, b].map(({ cpus }) => cpus.first ?? Infinity) as [number, number];
  if (first !== second) return first < second ? -1 : 1;
  return nameOf(a) < nameOf(b) ? -1 : 1;
}

function nameOf({ namespace, pod, containers }: Owner): string {
  return `${namespace}/${pod}/${containers.join()}`;
}

/** `a`, `b`, … or `aa`, `ab`, …, `ba`. */
function toLetters(index: number, length: number): string {
  let letters = '';
  for (let rest = index, i = 0; i < length; i++, rest = Math.floor(rest / 26)) {
    letters = String.fromCharCode(97 + (rest % 26)) + letters;
  }
  return letters;
}
