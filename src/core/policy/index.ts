import { guaranteedBySpec, wholeBySpec } from '../inference/entitle-by-spec';
import { inferCpuRequest, type CpuRequest } from '../inference/infer-cpu-request';
import { inferWholeCpus } from '../inference/infer-whole-cpus';
import type { AssignmentKind } from '../model/assignment';
import type { ContainerInfo, PodInfo } from '../model/events';
import type { ContainerSpec, PodSpec } from '../model/pod-spec';
import { perPolicy, POLICY_NAMES, POLICY_TABLE, type PolicyName } from '../model/policies';
import { grantContainerCpus } from './container-cpus';
import { grantNumaNodes } from './numa-nodes';
import { grantPodCpus } from './pod-cpus';
import type { Grant, Policy } from './policy';

/** The functions that a row of the policy table can name. */
const GRANTS: Readonly<Record<(typeof POLICY_TABLE)[PolicyName]['grant'], Grant>> = {
  nothing: () => ({ kind: 'share', because: 'the policy is none: it gets no CPUs of its own' }),
  'container-cpus': grantContainerCpus,
  'pod-cpus': grantPodCpus,
  'numa-nodes': grantNumaNodes,
};

/** Decides by each policy. */
export const POLICIES = perPolicy(({ grant }, name): Policy => {
  const kind = name as AssignmentKind; // `none` makes no assignment, and its grant asks for no kind
  return (snapshot, request) => GRANTS[grant](snapshot, request, kind);
});

/** Infers the CPUs that a container is entitled to under a policy from its message. */
export type Entitlement = (pod: PodInfo, container: ContainerInfo) => CpuRequest;

export const ENTITLEMENTS = perPolicy(({ entitles }): Entitlement =>
  entitles === 'guaranteed' ? inferCpuRequest : inferWholeCpus,
);

/** Reads the same from the pod's spec. */
export const SPEC_ENTITLEMENTS = perPolicy(({ entitles }): ((pod: PodSpec, container: ContainerSpec) => CpuRequest) =>
  entitles === 'guaranteed' ? guaranteedBySpec : wholeBySpec,
);

/** Crane's policies: what its scheduler chose is one set for the pod, and only app containers are served. */
export const SCHEDULED_POLICIES: ReadonlySet<PolicyName> = new Set(
  POLICY_NAMES.filter((name) => POLICY_TABLE[name].scheduledFor === 'pod'),
);

export { isWithinFloors } from './floors';
export { isSpreadAs } from './pod-cpus';
export type { Decision, Followers, PinRequest, Policy, Snapshot } from './policy';
