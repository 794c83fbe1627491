import { CpuSet } from '../cpuset';
import type { Assignment } from '../model/assignment';
import { keptOfBrought } from '../model/brought';
import type { Container, CpuPromise, PauseRules, PromisedQuota } from '../model/container';
import { samePromise } from '../model/container';
import { cpusOf, isAssigned, KINDS, sharedPoolFor } from '../model/pool-view';
import type { NodeView } from '../model/node-view';

/**
 * The container with the promise that follows from the model as it is; the same object when the promise has not
 * changed.
 */
export function withPromise(view: NodeView, container: Container): Container {
  const promise = promiseOf(view, container);
  if (!promise || samePromise(promise, container.promise)) return container;
  const placed = placementOf(view, container);
  // A new key comes first: V8 adds one to a copy slowly.
  return container.promise ? { ...container, promise, ...placed } : { promise, ...container, ...placed };
}

/** The CPUs, memory nodes and quota that the model gives a container; undefined when it is left alone. */
export function promiseOf(view: NodeView, container: Container): CpuPromise | undefined {
  if (container.pause) return promiseOfPause(view, container, container.pause);
  if (container.leftAlone) return undefined;
  const assignment = isAssigned(container) ? view.assignmentOf(container) : undefined;
  const quota = quotaOf(container);
  const brought = view.broughtTo(container.podUid, container.name);
  if (assignment)
    return { cpus: assignedCpus(view, assignment, brought?.cpus), mems: assignment.mems, ...(quota && { quota }) };
  if (container.placement === 'left-alone' && view.exclusive.isEmpty) return undefined;
  // cpuset.mems cannot be cleared, so a container that loses its memory nodes gets all of them.
  const isConfined = container.applied !== undefined && !container.applied.mems.isEmpty;
  const mems = brought?.mems ?? (isConfined ? memoryNodesOf(view) : CpuSet.empty);
  const kept = brought?.cpus && keptOfBrought(view, brought.cpus);
  return { cpus: kept ?? sharedPoolFor(view, container), mems, ...(quota && { quota }) };
}

/**
 * The CPUs of an assignment, within those that the request brought. The choice of CPUs of its own was bounded already.
 */
function assignedCpus(view: NodeView, assignment: Assignment, brought: CpuSet | undefined): CpuSet {
  const all = cpusOf(view, assignment);
  const isFollower = KINDS[assignment.kind].claim === 'numa-nodes';
  if (!all.isEmpty && !(isFollower && brought)) return all;
  const kept = brought && keptOfBrought(view, brought);
  const bounded = kept ? all.intersect(kept) : all;
  // All its CPUs are offline, or others have them, and it has to run somewhere. The verdict reports it.
  return bounded.isEmpty ? (kept ?? view.sharedPool) : bounded;
}

/**
 * A pause container gets the CPUs that the operator configured, less the exclusive ones. By default it gets the
 * reserved CPUs of the shared pool: these are never allocated, so no change of the pool moves it.
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

/** The quota that has to be written since it was switched while the container ran. */
function quotaOf({ quota, resources: { quotaUs = -1, periodUs } }: Container): PromisedQuota | undefined {
  if (quota === undefined) return undefined;
  return quota === 'lifted' ? { quotaUs: -1 } : { quotaUs, ...(periodUs !== undefined && { periodUs }) };
}

function memoryNodesOf({ topology }: NodeView): CpuSet {
  return CpuSet.of(
    topology.memoryNodes.filter(({ memoryBytes, isOfGpu }) => memoryBytes > 0 && !isOfGpu).map(({ id }) => id),
  );
}

/** The placement that goes with a new promise: a container may have lost its own CPUs. */
function placementOf(view: NodeView, container: Container): Pick<Container, 'placement' | 'because'> {
  const { placement, because } = container;
  if (isAssigned(container) && !view.assignmentOf(container))
    return { placement: 'shared', because: 'its CPUs went with its name to a newer container' };
  return { placement: placement === 'left-alone' ? 'shared' : placement, because };
}
