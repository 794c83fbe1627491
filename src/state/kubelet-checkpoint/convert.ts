import { CpuSet, parseCpuList } from '../../core/cpuset';
import { keyOf, type Assignment, type KeptRules } from '../../core/model/assignment';
import { KINDS } from '../../core/model/pool-view';
import type { KubeletState } from './state';

/** The runtime's data of a container in the kubelet's file. */
export interface KnownContainer {
  readonly podNamespace: string;
  readonly podName: string;
  /** The runtime's id; null when the container has exited or is not created yet. */
  readonly containerId: string | null;
}

/** CPUs of the kubelet's file that do not become an assignment. */
export interface NotTaken {
  readonly podUid: string;
  /** null for CPUs that belong to the pod as a whole. */
  readonly containerName: string | null;
  readonly cpus: string;
  /** Written for the operator. */
  readonly because: string;
}

export interface TakeOver {
  /** The container in the runtime; undefined when its pod is not on the node (any more). */
  readonly find: (podUid: string, containerName: string) => KnownContainer | undefined;
  /** The rules that are recorded with each assignment: those of the kubelet. */
  readonly rules: KeptRules;
  /** RFC 3339. */
  readonly since: string;
}

/**
 * Turns the kubelet's exclusive CPUs into assignments. Every entry becomes one or is listed with the reason.
 *
 * Inside a pod the kubelet lets sets overlap: an app container may have CPUs of an init container that has ended. Here
 * CPUs have one owner: a container that runs keeps its set, one that does not run gives up what others have.
 */
export function assignmentsFromKubelet(
  state: KubeletState,
  takeOver: TakeOver,
): { readonly assignments: readonly Assignment[]; readonly notTaken: readonly NotTaken[] } {
  const notTaken: NotTaken[] = [];
  const candidates: Assignment[] = [];
  for (const [podUid, pod] of state.entries) {
    for (const [containerName, list] of pod) {
      const cpus = parseCpuList(list);
      const known = takeOver.find(podUid, containerName);
      if (!known) notTaken.push({ podUid, containerName, cpus: list, because: 'it is not on this node any more' });
      else if (cpus.isEmpty) notTaken.push({ podUid, containerName, cpus: list, because: 'its set is empty' });
      else candidates.push(toAssignment(podUid, containerName, cpus, known, takeOver));
    }
  }
  for (const [podUid, list] of state.podEntries) {
    const because = 'CPUs of a pod as a whole are not supported: its containers move to the shared pool';
    notTaken.push({ podUid, containerName: null, cpus: list, because });
  }

  const running = candidates.filter(({ containerId }) => containerId !== null);
  const idle = candidates.filter(({ containerId }) => containerId === null);
  const contested = findContested(running);
  const assignments: Assignment[] = [];
  let taken = CpuSet.empty;
  for (const candidate of running) {
    const rival = contested.get(candidate);
    if (rival) notTaken.push({ ...entryOf(candidate), because: `it overlaps with ${keyOf(rival)}, and both run` });
    else assignments.push(candidate);
    taken = taken.union(candidate.cpus);
  }
  for (const candidate of idle) {
    const cpus = candidate.cpus.minus(taken);
    if (cpus.isEmpty)
      notTaken.push({ ...entryOf(candidate), because: 'it does not run, and others have all of its CPUs' });
    else assignments.push(cpus.equals(candidate.cpus) ? candidate : { ...candidate, cpus });
    taken = taken.union(cpus);
  }
  return { assignments, notTaken };
}

/**
 * The state with which a kubelet with the static policy leaves everything as it is.
 *
 * @param defaultCpuSet the shared pool. The kubelet stops unless it and the assignments make up all CPUs of the machine
 *   (without the reserved ones under `strict-cpu-reservation`)
 */
export function toKubeletState(
  assignments: Iterable<Assignment>,
  { policyName, defaultCpuSet }: { readonly policyName: string; readonly defaultCpuSet: CpuSet },
): KubeletState {
  const entries = new Map<string, Map<string, string>>();
  for (const { podUid, containerName, kind, cpus } of assignments) {
    if (KINDS[kind].claim !== 'exclusive') continue; // in the shared pool, which is all that the kubelet has for them
    const pod = entries.get(podUid) ?? new Map<string, string>();
    entries.set(podUid, pod.set(containerName, cpus.toString()));
  }
  return { policyName, defaultCpuSet: defaultCpuSet.toString(), entries, podEntries: new Map() };
}

/** The assignments that share a CPU with another, each with one such other. */
function findContested(candidates: readonly Assignment[]): ReadonlyMap<Assignment, Assignment> {
  const contested = new Map<Assignment, Assignment>();
  const ownerOf = new Map<number, Assignment>();
  for (const candidate of candidates) {
    for (const cpu of candidate.cpus) {
      const owner = ownerOf.get(cpu);
      if (owner) contested.set(candidate, owner).set(owner, candidate);
      else ownerOf.set(cpu, candidate);
    }
  }
  return contested;
}

function toAssignment(
  podUid: string,
  containerName: string,
  cpus: CpuSet,
  known: KnownContainer,
  as: TakeOver,
): Assignment {
  return {
    podUid,
    podNamespace: known.podNamespace,
    podName: known.podName,
    containerName,
    kind: 'static',
    cpus,
    mems: CpuSet.empty,
    requested: cpus.size,
    containerId: known.containerId,
    quotaLifted: false,
    rules: as.rules,
    because: "taken over from the kubelet's cpu_manager_state",
    since: as.since,
  };
}

function entryOf({ podUid, containerName, cpus }: Assignment): Omit<NotTaken, 'because'> {
  return { podUid, containerName, cpus: cpus.toString() };
}
