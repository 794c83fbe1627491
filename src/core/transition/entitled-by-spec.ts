import { choosePolicy } from '../annotations';
import type { AssignmentKind } from '../model/assignment';
import type { ContainerSpec, PodSpec } from '../model/pod-spec';
import type { Settings } from '../model/settings';
import { SPEC_ENTITLEMENTS } from '../policy';

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
