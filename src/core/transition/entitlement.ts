import { choosePolicy } from '../annotations/choose-policy';
import { readTopologyResult } from '../annotations/topology-result';
import type { Remark } from '../annotations/annotations';
import { explainsMessage } from '../inference/entitle-by-spec';
import { MAX_SHARES, milliOfShares } from '../inference/cri-numbers';
import { sumPodCpus } from '../inference/pod-cpus';
import type { CpuRequest } from '../inference/infer-cpu-request';
import type { AssignmentKind } from '../model/assignment';
import type { ContainerInfo } from '../model/events';
import { findContainerSpec, type ContainerSpec, type PodSpec } from '../model/pod-spec';
import type { ChosenPolicy, PolicyName } from '../model/policies';
import type { Settings } from '../model/settings';
import type { ResolvedPod } from '../model/spec-book';
import { oncePer } from '../once-per';
import { ENTITLEMENTS, SCHEDULED_POLICIES, SPEC_ENTITLEMENTS, type PinRequest } from '../policy';
import type { Topology } from '../topology';

/** The policy that decides for a container, and the CPUs that the container is entitled to under it. */
export interface Entitled {
  readonly chosen: ChosenPolicy;
  readonly request: CpuRequest;
  /** Annotations of the pod that are not followed. */
  readonly remarks: readonly Remark[];
}

/** Reads the entitlement of a container from its message and its pod's spec. */
export function entitle(settings: Settings, pod: ResolvedPod, container: ContainerInfo): Entitled {
  const { remarks, ...chosen } = choosePolicy(settings, pod.annotations, container.name);
  return { chosen, request: requestOf(pod, container, chosen.policy), remarks };
}

/**
 * The CPUs that a container is entitled to under a policy. Where the API server has told the pod's spec, that decides: it is
 * exact where the message only lets infer. The message decides where its numbers are not those of the spec.
 */
export function requestOf(pod: ResolvedPod, container: ContainerInfo, policy: PolicyName): CpuRequest {
  const byMessage = ENTITLEMENTS[policy](pod, container);
  const { spec } = pod;
  const containerSpec = findContainerSpec(spec, container.name);
  if (!spec || !containerSpec || byMessage.kind === 'conflict') return byMessage;
  const isNoTarget = SCHEDULED_POLICIES.has(policy) && containerSpec.kind !== 'app';
  return isNoTarget || explainsMessage(containerSpec, container.resources)
    ? SPEC_ENTITLEMENTS[policy](spec, containerSpec)
    : byMessage;
}

/** CPUs that a container is entitled to by its pod's spec: how many, and by which policy; undefined when it shares. Pure. */
export function entitledBySpec(
  settings: Settings,
  spec: PodSpec,
  container: ContainerSpec,
): { readonly policy: AssignmentKind; readonly count: number } | undefined {
  const { policy } = choosePolicy(settings, spec.annotations, container.name);
  if (policy === 'none') return undefined;
  const request = SPEC_ENTITLEMENTS[policy](spec, container);
  return request.kind === 'exclusive' ? { policy, count: request.count } : undefined;
}

/** The sum that all containers of the pod ask for, in thousandths of a CPU; undefined when it is not known. */
export function podMilliCpuOf(pod: ResolvedPod, policy: PolicyName): number | undefined {
  if (pod.spec) return sumBySpec(pod.spec, policy) * 1000;
  const shares = pod.podResources?.shares ?? 0;
  return shares >= MAX_SHARES ? undefined : milliOfShares(shares);
}

/** Whole CPUs that the policy has to give to the containers of a pod at one time. */
function sumBySpec(spec: PodSpec, policy: PolicyName): number {
  const sums = sumsOf(spec);
  let sum = sums.get(policy);
  if (sum === undefined) sums.set(policy, (sum = addUp(spec, policy)));
  return sum;
}

/** Added up once for each policy, and not again for each container. */
const sumsOf = oncePer((_spec: PodSpec) => new Map<PolicyName, number>());

function addUp(spec: PodSpec, policy: PolicyName): number {
  return sumPodCpus(
    spec.containers.map((container) => {
      const request = SPEC_ENTITLEMENTS[policy](spec, container);
      return { kind: container.kind, cpus: request.kind === 'exclusive' ? request.count : 0 };
    }),
  );
}

/** The scheduler's choice for the pod, where the policy goes by it. */
export function readSchedule(
  topology: Topology,
  pod: ResolvedPod,
  container: ContainerInfo,
  { policy }: ChosenPolicy,
  count: number,
): { readonly found: Pick<PinRequest, 'scheduled'>; readonly remarks: readonly Remark[] } {
  if (!SCHEDULED_POLICIES.has(policy)) return { found: {}, remarks: [] };
  const podMilliCpu = podMilliCpuOf(pod, policy);
  const { result, remarks } = readTopologyResult(topology, pod, { count, container, podMilliCpu });
  return { found: result ? { scheduled: result } : {}, remarks };
}
