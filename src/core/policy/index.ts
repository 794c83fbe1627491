import type { AssignmentKind } from '../model/assignment';
import { perPolicy, type POLICY_TABLE, type PolicyName } from '../model/policies';
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

export {
  ENTITLEMENTS,
  entitle,
  entitledBySpec,
  entitledCpus,
  podMilliCpuOf,
  readSchedule,
  requestOf,
  SCHEDULED_POLICIES,
  type Entitled,
} from './entitlement';
export { alignRequest } from './align-request';
export { isWithinFloors } from './floors';
export { leaveIn, listLeftIn } from './left-to-followers';
export { createRoom, mostIn, type Room } from './room';
export { grantOptionsOf, type GrantOptions } from './grant-options';
export { isSpreadAs } from './pod-cpus';
export type { Decision, Followers, PinRequest, Policy, Snapshot } from './policy';
