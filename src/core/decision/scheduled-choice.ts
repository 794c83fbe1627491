import type { Remark } from '../annotations/annotations';
import { readTopologyResult, resultOf, TOPOLOGY_RESULT, totalOf } from '../annotations/topology-result';
import { CpuSet } from '../cpuset';
import type { ContainerInfo } from '../model/events';
import type { NodeView } from '../model/node-view';
import type { ContainerKind } from '../model/pod-kinds';
import { findContainerSpec } from '../model/pod-spec';
import { POLICY_TABLE, type ChosenPolicy } from '../model/policies';
import type { Settings } from '../model/settings';
import type { ResolvedPod } from '../model/spec-book';
import { sum } from '../sum';
import type { Topology } from '../topology';
import { entitledBySpec, podMilliCpuOf, SCHEDULED_POLICIES } from './entitlement';
import type { PinRequest, Snapshot } from '../policy';

/** The part of the scheduler's choice that a request follows, and what is not followed of it. */
interface Choice {
  readonly found: Pick<PinRequest, 'scheduled' | 'restOfResult'>;
  readonly remarks: readonly Remark[];
}

/** One container, the policy that decides on it, and the number of CPUs that it asks for. */
interface Asking {
  readonly chosen: ChosenPolicy;
  readonly count: number;
  readonly snapshot: Snapshot;
}

const NO_CHOICE: Choice = { found: {}, remarks: [] };

/**
 * The scheduler's choice for the pod as the container's policy follows it: the whole, or the rest that other containers
 * leave.
 */
export function readChoice(
  view: Pick<NodeView, 'topology' | 'settings' | 'assignmentsOf'>,
  pod: ResolvedPod,
  container: ContainerInfo,
  asking: Asking,
): Choice {
  switch (POLICY_TABLE[asking.chosen.policy].scheduledFor) {
    case 'pod':
      return readSchedule(view.topology, pod, container, asking.chosen, asking.count);
    case 'container':
      return readRest(view, pod, container, asking);
    default:
      return NO_CHOICE;
  }
}

/** The scheduler's choice for the pod, under a policy that follows it. */
export function readSchedule(
  topology: Topology,
  pod: ResolvedPod,
  container: ContainerInfo,
  { policy }: ChosenPolicy,
  count: number,
): { readonly found: Pick<PinRequest, 'scheduled'>; readonly remarks: readonly Remark[] } {
  if (!SCHEDULED_POLICIES.has(policy)) return NO_CHOICE;
  const podMilliCpu = podMilliCpuOf(pod, policy);
  const { result, remarks } = readTopologyResult(topology, pod, { count, container, podMilliCpu });
  return { found: result ? { scheduled: result } : {}, remarks };
}

/**
 * The scheduler's choice for the pod without the CPUs of its other containers, for the static policy: that gives each
 * container its own CPUs. crane-scheduler chooses for all app containers together, so a sidecar has no part in it;
 * cpusetd's extender chooses for sidecars and init containers too, so the choice names more than the app containers ask
 * for. The CPUs of an init container count as left, since later containers take them over.
 */
function readRest(
  view: Pick<NodeView, 'settings' | 'assignmentsOf'>,
  pod: ResolvedPod,
  container: ContainerInfo,
  { chosen: { policy }, count, snapshot: { topology, idleInPod } }: Asking,
): Choice {
  const kindOf = (name: string): ContainerKind => findContainerSpec(pod.spec, name)?.kind ?? 'app';
  const isForAll = isForAllContainers(view.settings, pod);
  if (kindOf(container.name) === 'sidecar' && !isForAll) return NO_CHOICE;
  const { result, remarks } = readTopologyResult(topology, pod, {
    count,
    container,
    podMilliCpu: podMilliCpuOf(pod, policy),
  });
  if (!result) return { found: {}, remarks };
  if (result.size === 0) return { found: {}, remarks: [remarkUnfollowed('it names no CPUs')] };
  const counted: readonly ContainerKind[] = isForAll ? ['app', 'sidecar'] : ['app'];
  const others = view
    .assignmentsOf(pod.uid)
    .filter(({ containerName }) => containerName !== container.name && counted.includes(kindOf(containerName)));
  const had = CpuSet.unionOf(others.map(({ cpus }) => cpus)).minus(idleInPod);
  const left = topology.numaNodes.map(({ id, cpus }) => [id, (result.get(id) ?? 0) - cpus.countIn(had)] as const);
  return { found: { restOfResult: new Map(left.filter(([, cpus]) => cpus > 0)) }, remarks: [] };
}

/** True for a choice of the scheduler that names more CPUs than the pod's app containers ask for. */
function isForAllContainers(settings: Settings, { spec, annotations }: ResolvedPod): boolean {
  const parsed = resultOf(annotations);
  if (!spec || parsed?.ok !== true || spec.containers.every(({ kind }) => kind === 'app')) return false;
  const ofApps = spec.containers.filter(({ kind }) => kind === 'app');
  return totalOf(parsed.result) > sum(ofApps.map((container) => entitledBySpec(settings, spec, container)?.count ?? 0));
}

/** Remarks that the choice is not followed. `because`: the reason. */
export function remarkUnfollowed(because: string): Remark {
  return { annotation: TOPOLOGY_RESULT, because: `${because}; CPUs are chosen here instead` };
}
