import type { Remark } from '../annotations/annotations';
import {
  readTopologyResult,
  resultOf,
  TOPOLOGY_RESULT,
  totalOf,
  type TopologyResult,
} from '../annotations/topology-result';
import { CpuSet } from '../cpuset';
import type { Assignment } from '../model/assignment';
import type { NodeView } from '../model/node-view';
import { POLICY_TABLE, type PolicyName } from '../model/policies';
import type { ContainerSpec } from '../model/pod-spec';
import type { Settings } from '../model/settings';
import type { ResolvedPod } from '../model/spec-book';
import type { PinRequest, Snapshot } from '../policy';
import { sum } from '../sum';
import { entitledBySpec } from './entitlement';

/** The scheduler's choice for a pod, as the policy of one of its containers follows it. */
export interface ScheduledChoice {
  /** The whole choice, for a policy that follows it; absent = none. */
  readonly whole?: TopologyResult;
  /**
   * For a policy that gives each container its own CPUs: the choice, from which other containers have their part.
   * `without`: containers that have no part in it, and the container itself. Absent = none.
   */
  readonly shared?: { readonly result: TopologyResult; readonly without: ReadonlySet<string> };
  /** The reasons why it is not followed. */
  readonly remarks: readonly Remark[];
}

export const NO_CHOICE: ScheduledChoice = { remarks: [] };

/** A container that asks for CPUs of its own. */
interface Asking {
  readonly name: string;
  readonly policy: PolicyName;
  /** Whole CPUs. */
  readonly count: number;
  /** The request of its pod, in thousandths of a CPU; undefined when it is not known. */
  readonly podMilliCpu: number | undefined;
}

/** Reads the scheduler's choice for a container that asks for CPUs of its own. */
export function readChoice(
  { settings, topology }: Pick<NodeView, 'topology' | 'settings'>,
  pod: ResolvedPod,
  { name, policy, count, podMilliCpu }: Asking,
): ScheduledChoice {
  const { scheduledFor } = POLICY_TABLE[policy];
  if (scheduledFor === null || resultOf(pod.annotations) === undefined) return NO_CHOICE;
  const others = scheduledFor === 'container' ? listWithoutPart(settings, pod) : [];
  if (others.some((other) => other.name === name && other.kind === 'sidecar')) return NO_CHOICE;
  const { result, remarks } = readTopologyResult(topology, pod, { count, container: { name }, podMilliCpu });
  if (!result) return { remarks };
  if (scheduledFor === 'pod') return { whole: result, remarks };
  if (result.size === 0) return { remarks: [remarkUnfollowed('it names no CPUs')] };
  return { shared: { result, without: new Set([name, ...others.map((other) => other.name)]) }, remarks: [] };
}

/**
 * The containers that have no part in the choice, where a policy gives each container its own CPUs. crane-scheduler
 * chooses for all app containers together, so a sidecar has none; cpusetd's extender chooses for sidecars and init
 * containers too, so the choice names more than the app containers ask for.
 */
function listWithoutPart(settings: Settings, pod: ResolvedPod): readonly ContainerSpec[] {
  const isForAll = isForAllContainers(settings, pod);
  return (pod.spec?.containers ?? []).filter(({ kind }) => kind === 'init' || (kind === 'sidecar' && !isForAll));
}

/** True for a choice of the scheduler that names more CPUs than the pod's app containers ask for. */
function isForAllContainers(settings: Settings, { spec, annotations }: ResolvedPod): boolean {
  const parsed = resultOf(annotations);
  if (!spec || parsed?.ok !== true || spec.containers.every(({ kind }) => kind === 'app')) return false;
  const ofApps = spec.containers.filter(({ kind }) => kind === 'app');
  return totalOf(parsed.result) > sum(ofApps.map((container) => entitledBySpec(settings, spec, container)?.count ?? 0));
}

/**
 * The choice as a request follows it: the whole, or the rest that the other containers of the pod leave. The CPUs of an
 * init container count as left, since later containers take them over. `ofPod`: the assignments of the pod.
 */
export function followChoice(
  { whole, shared }: ScheduledChoice,
  { topology, idleInPod }: Snapshot,
  ofPod: readonly Assignment[],
): Pick<PinRequest, 'scheduled' | 'restOfResult'> {
  if (whole) return { scheduled: whole };
  if (!shared) return {};
  const others = ofPod.filter(({ containerName }) => !shared.without.has(containerName));
  const had = CpuSet.unionOf(others.map(({ cpus }) => cpus)).minus(idleInPod);
  const left = topology.numaNodes.map(
    ({ id, cpus }) => [id, (shared.result.get(id) ?? 0) - cpus.countIn(had)] as const,
  );
  return { restOfResult: new Map(left.filter(([, cpus]) => cpus > 0)) };
}

/** Remarks that the choice is not followed. `because`: the reason. */
export function remarkUnfollowed(because: string): Remark {
  return { annotation: TOPOLOGY_RESULT, because: `${because}; CPUs are chosen here instead` };
}
