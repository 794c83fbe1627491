import type { AssignmentKind } from '../model/assignment';
import { perPolicy, POLICY_TABLE, type PolicyName } from '../model/policies';
import { grantContainerCpus } from './container-cpus';
import { grantNumaNodes } from './numa-nodes';
import { grantPodCpus } from './pod-cpus';
import type { Decision, Grant, PinRequest, Policy, Snapshot } from './policy';
import { resizeCpus } from './resize-cpus';

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

/**
 * Decides on a container that runs with an assignment of this kind and asks for another number of CPUs. It keeps what
 * it has.
 */
export function resize(snapshot: Snapshot, request: Omit<PinRequest, 'keepsOwn'>, kind: AssignmentKind): Decision {
  const grant = POLICY_TABLE[kind].claim === 'numa-nodes' ? POLICIES[kind] : resizeCpus;
  return grant(snapshot, { ...request, keepsOwn: true }, kind);
}

export { alignRequest } from './align-request';
export { isWithinFloors } from './floors';
export { leastLeftIn, listWaysToLeave } from './left-to-followers';
export { createRoom, mostIn, type Room } from './room';
export { grantOptionsOf, type GrantOptions } from './grant-options';
export { isSpreadAs } from './pod-cpus';
export { splitRest } from './split-rest';
export { explainDecision, type Decision, type Followers, type PinRequest, type Policy, type Snapshot } from './policy';
