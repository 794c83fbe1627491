import { explainsMessage, MAX_SHARES, milliOfShares, sumPodCpus, type CpuRequest } from '../inference';
import type { ContainerInfo, PodInfo } from '../model/events';
import { oncePer } from '../once-per';
import { findContainerSpec, findSpec } from '../model/find-spec';
import type { NodeView } from '../model/node-model';
import type { PodSpec } from '../model/pod-spec';
import type { PolicyName } from '../model/policies';
import { ENTITLEMENTS, SCHEDULED_POLICIES, SPEC_ENTITLEMENTS } from '../policy';

/**
 * What a container is entitled to under a policy. Where the API server has told the pod's spec, that decides: it is
 * exact where the message only lets infer. The message decides where its numbers are not those of the spec.
 */
export function requestOf(view: NodeView, pod: PodInfo, container: ContainerInfo, policy: PolicyName): CpuRequest {
  const byMessage = ENTITLEMENTS[policy](pod, container);
  const spec = findSpec(view, pod);
  const containerSpec = findContainerSpec(spec, container.name);
  if (!spec || !containerSpec || byMessage.kind === 'conflict') return byMessage;
  const isNoTarget = SCHEDULED_POLICIES.has(policy) && containerSpec.kind !== 'app';
  return isNoTarget || explainsMessage(containerSpec, container.resources)
    ? SPEC_ENTITLEMENTS[policy](spec, containerSpec)
    : byMessage;
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

/** What all containers of the pod ask for, in thousandths of a CPU; undefined when that cannot be told. */
export function podMilliCpuOf(view: NodeView, pod: PodInfo, policy: PolicyName): number | undefined {
  const spec = findSpec(view, pod);
  if (spec) return sumBySpec(spec, policy) * 1000;
  const shares = pod.podResources?.shares ?? 0;
  return shares >= MAX_SHARES ? undefined : milliOfShares(shares);
}
