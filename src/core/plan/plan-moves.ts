import { CpuSet } from '../cpuset';
import { keyOf, type Assignment } from '../model/assignment';
import { samePromise, type Container, type CpuPromise, type PauseRules, type PromisedQuota } from '../model/container';
import { cpusOf, isAssigned, KINDS, sharedPoolFor } from '../model/pool-view';
import type { Change, NodeView } from '../model/node-model';
import { podQuotaToRestore } from './plan-quotas';

/** One container that has to change its CPUs, as data. */
export interface Move {
  readonly containerId: string;
  readonly cgroupsPath: string;
  /** Its CPUs so far, as far as known. */
  readonly from?: CpuPromise;
  readonly to: CpuPromise;
  /** The quota of its pod as a whole, where that has to be set again too. */
  readonly podQuota?: { readonly podUid: string; readonly quota: PromisedQuota };
  readonly because: string;
}

/** The changes under way, as far as planning needs them (a Draft). */
export interface Changing {
  readonly model: NodeView;
  readonly put: (change: Change) => void;
  /** Containers whose promise may have changed. */
  readonly affected: () => readonly Container[];
}

/**
 * Brings every container's promise up to date with the model, and lists what has to move: those that leave CPUs
 * first, those that only gain some last, so that no CPU ever has two owners on the way.
 *
 * Containers without a cgroup are not moved; their promise is kept and carried out when they start.
 */
export function planMoves({ model, put, affected }: Changing): Move[] {
  const moves: Move[] = [];
  for (const container of affected()) {
    const promise = promiseOf(model, container);
    let current = container;
    if (promise && !samePromise(promise, container.promise)) {
      current = { ...container, promise, ...standingOf(model, container) };
      put({ kind: 'put-container', container: current });
    }
    if (hasCgroup(current) && current.promise && !samePromise(current.told, current.promise)) {
      moves.push({
        containerId: current.id,
        cgroupsPath: current.cgroupsPath,
        ...(current.told && { from: current.told }),
        to: current.promise,
        ...planPodQuota(model, current),
        because: reasonOf(model, current),
      });
    }
  }
  return moves.sort((a, b) => Number(onlyGrows(a)) - Number(onlyGrows(b)));
}

/** The CPUs and memory that the model as it is gives the container; undefined when it is left alone. */
export function promiseOf(view: NodeView, container: Container): CpuPromise | undefined {
  if (container.pause) return promiseOfPause(view, container, container.pause);
  const assignment = isAssigned(container) ? ownAssignment(view, container) : undefined;
  const quota = quotaOf(container);
  if (assignment) {
    const cpus = cpusOf(view, assignment);
    // All its CPUs are offline: it has to run somewhere. The verdict says so.
    return { cpus: cpus.isEmpty ? view.sharedPool : cpus, mems: assignment.mems, ...(quota && { quota }) };
  }
  if (container.placement === 'left-alone' && view.exclusive.isEmpty) return undefined;
  // cpuset.mems cannot be cleared, so a container that loses its memory nodes gets all of them.
  const confined = container.told !== undefined && !container.told.mems.isEmpty;
  const mems = confined ? memoryNodesOf(view) : CpuSet.empty;
  return { cpus: sharedPoolFor(view, container), mems, ...(quota && { quota }) };
}

/**
 * The CPUs that the operator gave it as far as they are nobody else's alone; else the reserved CPUs of the shared pool: nobody is ever given
 * those, so no change of the pool moves a pause container; else the pool.
 */
function promiseOfPause(
  view: NodeView,
  { placement }: Container,
  { stays, configured }: PauseRules,
): CpuPromise | undefined {
  if (stays || (placement === 'left-alone' && view.exclusive.isEmpty)) return undefined;
  const own = configured?.intersect(view.topology.online).minus(view.exclusive) ?? CpuSet.empty;
  const reserved = view.sharedPool.intersect(view.settings.reserved);
  return { cpus: [own, reserved].find((cpus) => !cpus.isEmpty) ?? view.sharedPool, mems: CpuSet.empty };
}

/** A container that gets its quota again may have been the last one of its pod to have none. */
function planPodQuota(view: NodeView, container: Container): Pick<Move, 'podQuota'> {
  const { quota: to, podUid, promise, told } = container;
  if (to !== 'as-asked' || promise?.quota?.quotaUs === told?.quota?.quotaUs) return {};
  const quota = podQuotaToRestore(view, container);
  return quota ? { podQuota: { podUid, quota } } : {};
}

/** The quota that has to be written, where it was switched while the container ran. */
function quotaOf({ quota, resources: { quotaUs = -1, periodUs } }: Container): PromisedQuota | undefined {
  if (quota === undefined) return undefined;
  return quota === 'lifted' ? { quotaUs: -1 } : { quotaUs, ...(periodUs !== undefined && { periodUs }) };
}

function memoryNodesOf({ topology }: NodeView): CpuSet {
  return CpuSet.of(topology.memoryNodes.filter(({ memoryBytes }) => memoryBytes > 0).map(({ id }) => id));
}

function ownAssignment(view: NodeView, { id, podUid, name }: Container): Assignment | undefined {
  const assignment = view.assignments.get(keyOf({ podUid, containerName: name }));
  return assignment?.containerId === id ? assignment : undefined;
}

function reasonOf(view: NodeView, container: Container): string {
  const assignment = isAssigned(container) ? ownAssignment(view, container) : undefined;
  if (!assignment) return 'the shared pool changed';
  return KINDS[assignment.kind].claim === 'numa-nodes'
    ? 'what is shared on its NUMA nodes changed'
    : assignment.because;
}

/** The placement that goes with the promise of now: a container may have lost its own CPUs. */
function standingOf(view: NodeView, container: Container): Pick<Container, 'placement' | 'because'> {
  const { placement, because } = container;
  if (isAssigned(container) && !ownAssignment(view, container))
    return { placement: 'shared', because: 'its CPUs went with its name to a newer container' };
  return { placement: placement === 'left-alone' ? 'shared' : placement, because };
}

/** True while there is a cgroup to be written: from the start of the container to its exit. */
export function hasCgroup({ phase }: Container): boolean {
  return phase === 'starting' || phase === 'running';
}

function onlyGrows({ from, to }: Move): boolean {
  return from !== undefined && from.cpus.isSubsetOf(to.cpus);
}
