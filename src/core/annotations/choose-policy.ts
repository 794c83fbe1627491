import { POLICY_NAMES, POLICY_TABLE, type ChosenPolicy, type PolicyName } from '../model/policies';
import type { Settings } from '../model/settings';
import { oncePer } from '../once-per';
import { annotationOf, quote, type Annotations, type Remark } from './annotations';

/** One family of annotations that choose a policy. */
interface Family {
  /** For the whole pod. */
  readonly pod: string;
  /** For one container: each of these with the container's name appended. */
  readonly container: readonly string[];
  readonly values: readonly PolicyName[];
}

/**
 * The annotations of cpusetd come before Crane's. Kubernetes allows one slash in the name of an annotation, so through
 * an API server only the second form for a container passes; the first is for pods that come another way.
 */
const FAMILIES: readonly Family[] = [
  {
    pod: 'cpusetd.io/policy',
    container: ['cpusetd.io/policy/container.', 'policy.cpusetd.io/container.'],
    values: POLICY_NAMES,
  },
  {
    pod: 'topology.crane.io/cpu-policy',
    container: ['topology.crane.io/cpu-policy/container.', 'cpu-policy.topology.crane.io/container.'],
    values: POLICY_NAMES.filter((name) => POLICY_TABLE[name].isCranes),
  },
];

/**
 * The policy for a container: what its pod's annotations choose as far as the operator lets pods choose, else the
 * node's. An annotation for the one container comes before one for the pod. A value that is unknown or not allowed
 * counts as not set, and is remarked.
 */
export function choosePolicy(
  { cpuManagerPolicy, podPolicies = [] }: Pick<Settings, 'cpuManagerPolicy' | 'podPolicies'>,
  annotations: Annotations,
  containerName: string,
): ChosenPolicy & { readonly remarks: readonly Remark[] } {
  const remarks: Remark[] = [];
  for (const { annotation, value, values } of candidatesFor(annotations, containerName)) {
    const policy = values.find((name) => name === value);
    if (policy !== undefined && podPolicies.includes(policy)) return { policy, chosenBy: annotation, remarks };
    remarks.push({
      annotation,
      because:
        policy === undefined
          ? `${quote(value)} is none of ${values.join(', ')}`
          : `the operator does not let pods choose ${policy} here (--pod-policies)`,
    });
  }
  return { policy: cpuManagerPolicy, remarks };
}

/** The policies that the annotations choose for the container, allowed or not, those that win first. */
export function listChoices(
  annotations: Annotations,
  containerName: string,
): readonly { readonly annotation: string; readonly policy: PolicyName }[] {
  return candidatesFor(annotations, containerName).flatMap(({ annotation, value, values }) => {
    const policy = values.find((name) => name === value);
    return policy === undefined ? [] : [{ annotation, policy }];
  });
}

/** The names of all annotations that can choose a policy for one of these containers. */
export function choiceNames(containerNames: readonly string[]): string[] {
  return FAMILIES.flatMap(({ pod, container }) => [
    pod,
    ...container.flatMap((prefix) => containerNames.map((name) => prefix + name)),
  ]);
}

/** True for the name of an annotation that chooses a policy, for whichever container. */
export function isChoice(annotation: string): boolean {
  return FAMILIES.some(
    ({ pod, container }) => annotation === pod || container.some((prefix) => annotation.startsWith(prefix)),
  );
}

/** An annotation that may choose. */
interface Candidate {
  readonly annotation: string;
  readonly value: string;
  readonly values: readonly PolicyName[];
}

/** Annotations that may choose for the container, those that win first. Most pods have none of the kind. */
function candidatesFor(annotations: Annotations, containerName: string): readonly Candidate[] {
  const { ofPod, byContainer } = candidatesOf(annotations);
  const own = byContainer.get(containerName);
  return own === undefined ? ofPod : [...own, ...ofPod];
}

/** All of a pod, each list with those that win first. Found once for all its containers. */
const candidatesOf = oncePer((annotations: Annotations) => {
  const ofPod: Candidate[] = [];
  const byContainer = new Map<string, Candidate[]>();
  const ours = Object.keys(annotations).filter(isChoice);
  for (const { pod, container, values } of FAMILIES) {
    const value = annotationOf(annotations, pod);
    if (value !== undefined) ofPod.push({ annotation: pod, value, values });
    for (const prefix of container)
      for (const annotation of ours) {
        if (!annotation.startsWith(prefix)) continue;
        const candidate = { annotation, value: annotations[annotation]!, values };
        const name = annotation.slice(prefix.length);
        const others = byContainer.get(name);
        if (others) others.push(candidate);
        else byContainer.set(name, [candidate]);
      }
  }
  return { ofPod, byContainer };
});
