import { guaranteedBySpec, inferCpuRequest, inferWholeCpus, wholeBySpec, type CpuRequest } from '../inference';
import type { ContainerInfo, PodInfo } from '../model/events';
import type { ContainerSpec, PodSpec } from '../model/pod-spec';
import type { PolicyName } from '../model/policy-name';
import { exclusivePolicy } from './crane-exclusive';
import { immovablePolicy } from './crane-immovable';
import { numaPolicy } from './crane-numa';
import { nonePolicy } from './none';
import type { Policy } from './policy';
import { staticPolicy } from './static';

/** Every policy by its name. */
export const POLICIES: Readonly<Record<PolicyName, Policy>> = {
  none: nonePolicy,
  static: staticPolicy,
  exclusive: exclusivePolicy,
  numa: numaPolicy,
  immovable: immovablePolicy,
};

/** What a container is entitled to under a policy, as far as its message tells. */
export type Entitlement = (pod: PodInfo, container: ContainerInfo) => CpuRequest;

export const ENTITLEMENTS: Readonly<Record<PolicyName, Entitlement>> = {
  none: inferCpuRequest,
  static: inferCpuRequest,
  exclusive: inferWholeCpus,
  numa: inferWholeCpus,
  immovable: inferWholeCpus,
};

/** The same where the pod's spec is known. */
export const SPEC_ENTITLEMENTS: Readonly<Record<PolicyName, (pod: PodSpec, container: ContainerSpec) => CpuRequest>> = {
  none: guaranteedBySpec,
  static: guaranteedBySpec,
  exclusive: wholeBySpec,
  numa: wholeBySpec,
  immovable: wholeBySpec,
};

/** Crane's policies: what its scheduler chose is one set for the pod, and only app containers are served. */
export const SCHEDULED_POLICIES: ReadonlySet<PolicyName> = new Set<PolicyName>(['exclusive', 'numa', 'immovable']);

export { isWithinFloors } from './floors';
export { isSpreadAs } from './give-scheduled-cpus';
export type { Decision, Followers, PinRequest, Policy, Snapshot } from './policy';
