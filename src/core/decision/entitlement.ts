import { choosePolicy } from '../annotations/choose-policy';
import type { Remark } from '../annotations/annotations';
import { chooseLeaveAlone, type LeftAlone } from '../annotations/leave-alone';
import { explainsMessage, guaranteedBySpec, wholeBySpec } from '../inference/entitle-by-spec';
import { inferCpuRequest, shared, type CpuRequest } from '../inference/infer-cpu-request';
import { inferWholeCpus } from '../inference/infer-whole-cpus';
import { hasCpusOfPod } from '../inference/pod-level';
import { MAX_SHARES, milliOfShares } from '../inference/cri-numbers';
import { sumPodCpus } from '../model/pod-cpus';
import type { Assignment, AssignmentKind } from '../model/assignment';
import type { ContainerInfo, PodInfo } from '../model/events';
import { findContainerSpec, type ContainerSpec, type PodSpec } from '../model/pod-spec';
import { perPolicy, POLICY_NAMES, POLICY_TABLE, type ChosenPolicy, type PolicyName } from '../model/policies';
import type { Settings } from '../model/settings';
import type { ResolvedPod } from '../model/spec-book';
import { oncePer } from '../once-per';

/** The CPUs that a container is entitled to under a policy, as far as its message shows. */
export type Entitlement = (pod: PodInfo, container: ContainerInfo) => CpuRequest;

export const ENTITLEMENTS = perPolicy(({ entitles }): Entitlement =>
  entitles === 'guaranteed' ? inferCpuRequest : inferWholeCpus,
);

/** The same where the pod's spec is known. */
export const SPEC_ENTITLEMENTS = perPolicy(({ entitles }): ((pod: PodSpec, container: ContainerSpec) => CpuRequest) =>
  entitles === 'guaranteed' ? guaranteedBySpec : wholeBySpec,
);

/** Crane's policies: its scheduler chooses one set for the pod, and only app containers are entitled. */
export const SCHEDULED_POLICIES: ReadonlySet<PolicyName> = new Set(
  POLICY_NAMES.filter((name) => POLICY_TABLE[name].scheduledFor === 'pod'),
);

/** The policy that decides for a container, and the CPUs that the container is entitled to under it. */
export interface Entitled {
  readonly chosen: ChosenPolicy;
  readonly request: CpuRequest;
  /** The part of it that cpusetd does not touch; absent = none. */
  readonly leftAlone?: LeftAlone;
  /** Annotations of the pod that are not followed. */
  readonly remarks: readonly Remark[];
}

/**
 * Reads the entitlement of a container from its message and its pod's spec. The annotations that the sandbox was
 * created with decide if it is left alone: a change of them moves no container.
 *
 * `held`: the assignment that it has already. It asks by the policy that gave it, and a rule that came later does not
 * take its CPUs.
 */
export function entitle(
  settings: Settings,
  pod: ResolvedPod,
  container: ContainerInfo,
  held?: Pick<Assignment, 'kind' | 'rules'>,
): Entitled {
  const { leaves, remarks: first } = chooseLeaveAlone(settings, pod.sandbox, container.name);
  if (held) {
    const request = requestOf(pod, container, held.kind);
    return { chosen: held.rules, request, ...(leaves && { leftAlone: 'memory' as const }), remarks: [] };
  }
  if (leaves?.part === 'all') {
    const request = { kind: 'shared', qos: 'unknown', because: `left alone: ${leaves.because}` } as const;
    return { chosen: { policy: 'none' }, request, leftAlone: 'all', remarks: first };
  }
  const { remarks: others, ...chosen } = choosePolicy(settings, pod.annotations, container.name);
  const remarks = first.length === 0 ? others : [...first, ...others];
  const request = requestOf(pod, container, chosen.policy);
  return leaves ? { chosen, request, leftAlone: leaves.part, remarks } : { chosen, request, remarks };
}

/** The pod without the sum that it announced at its start: it may be older than the numbers of a running container. */
export function withoutSum({ podResources: _older, ...pod }: ResolvedPod): ResolvedPod {
  return pod;
}

/**
 * The CPUs that a container is entitled to under a policy. The pod's spec decides where it is known: it is exact, and
 * the message only lets infer. The message decides where its numbers are not those of the spec.
 */
export function requestOf(pod: ResolvedPod, container: ContainerInfo, policy: PolicyName): CpuRequest {
  const byMessage = inferRequest(pod, container, policy);
  const { spec } = pod;
  const containerSpec = findContainerSpec(spec, container.name);
  if (!spec || !containerSpec || byMessage.kind === 'conflict') return byMessage;
  const isNoTarget = SCHEDULED_POLICIES.has(policy) && containerSpec.kind !== 'app';
  return isNoTarget || explainsMessage(spec, containerSpec, container.resources)
    ? SPEC_ENTITLEMENTS[policy](spec, containerSpec)
    : byMessage;
}

/** The entitlement as far as it shows without a spec. */
function inferRequest(pod: ResolvedPod, container: ContainerInfo, policy: PolicyName): CpuRequest {
  const inferred = ENTITLEMENTS[policy](pod, container);
  if (!pod.podLevel || inferred.kind !== 'exclusive' || !looksLikePod(pod, container)) return inferred;
  return shared(inferred.qos, 'the pod has resources as a whole, and the container no CPU limit of its own');
}

/**
 * True for a container with the CPU numbers of its pod, by the sums of its sandbox or by those that it was found out
 * with.
 */
export function looksLikePod(
  { podLevel, sandbox }: Pick<ResolvedPod, 'podLevel' | 'sandbox'>,
  { resources }: Pick<ContainerInfo, 'resources'>,
): boolean {
  return [podLevel, sandbox.podResources].some((sums) => hasCpusOfPod(resources, sums));
}

/** The whole CPUs of a request; 0 when it shares, or its numbers contradict each other. */
export function entitledCpus(request: CpuRequest): number {
  return request.kind === 'exclusive' ? request.count : 0;
}

/** The policy and the number of CPUs that a container is entitled to by its pod's spec; undefined when it shares. */
export function entitledBySpec(
  settings: Settings,
  spec: PodSpec,
  container: ContainerSpec,
): { readonly policy: AssignmentKind; readonly count: number } | undefined {
  if (chooseLeaveAlone(settings, spec, container.name).leaves?.part === 'all') return undefined;
  const { policy } = choosePolicy(settings, spec.annotations, container.name);
  if (policy === 'none') return undefined;
  const request = SPEC_ENTITLEMENTS[policy](spec, container);
  return request.kind === 'exclusive' ? { policy, count: request.count } : undefined;
}

/**
 * Whole CPUs that the containers of a pod hold at one time by its spec. Those that are left alone, or chose another
 * policy, count as what they are: one that shares or follows NUMA nodes holds none. Added up once for each spec, and
 * not for each container.
 */
export function countHeldBySpec(settings: Settings, spec: PodSpec): number {
  return heldOf(settings)(spec);
}

const heldOf = oncePer((settings: Settings) =>
  oncePer((spec: PodSpec) =>
    sumPodCpus(
      spec.containers.map((container) => {
        const entitled = entitledBySpec(settings, spec, container);
        const holds = entitled && POLICY_TABLE[entitled.policy].claim !== 'numa-nodes';
        return { kind: container.kind, cpus: holds ? entitled.count : 0 };
      }),
    ),
  ),
);

/**
 * The sum of the requests of a pod's containers as a scheduler counts them, in thousandths of a CPU; undefined when it
 * is not known.
 */
export function podMilliCpuOf(pod: ResolvedPod, policy: PolicyName): number | undefined {
  if (pod.spec) return sumBySpec(pod.spec, policy) * 1000;
  const shares = pod.podResources?.shares ?? 0;
  return shares >= MAX_SHARES ? undefined : milliOfShares(shares);
}

/** Whole CPUs that the policy has to give to the containers of a pod at one time. */
function sumBySpec(spec: PodSpec, policy: PolicyName): number {
  const sums = sumsOf(spec);
  let sum = sums.get(policy);
  if (sum === undefined) {
    const containers = spec.containers.map((container) => ({
      kind: container.kind,
      cpus: entitledCpus(SPEC_ENTITLEMENTS[policy](spec, container)),
    }));
    sums.set(policy, (sum = sumPodCpus(containers)));
  }
  return sum;
}

/** The sums of a spec, added up once for each policy and not for each container. */
const sumsOf = oncePer((_spec: PodSpec) => new Map<PolicyName, number>());
