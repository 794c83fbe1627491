import { POLICY_NAMES, type ChosenPolicy, type PolicyName } from '../model/policy-name';
import type { Settings } from '../model/settings';
import { oncePer } from '../once-per';
import { annotationOf, quote, type Annotations, type Remark } from './annotation';

/** One family of annotations that choose a policy. */
interface Family {
  /** For the whole pod. */
  readonly pod: string;
  /** For one container: each of these with the container's name appended. */
  readonly container: readonly string[];
  readonly values: readonly PolicyName[];
}

/**
 * Ours come before Crane's. Kubernetes allows one slash in the name of an annotation, so through an API server only the
 * second form for a container passes; the first is for pods that come another way.
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
    values: ['none', 'exclusive', 'numa', 'immovable'],
  },
];

/**
 * The policy for a container: what its pod's annotations choose as far as the operator lets pods choose, else the node's.
 * What is said of the one container comes before what is said of the pod. A value that is unknown or not allowed counts
 * as not set, and is remarked.
 */
export function choosePolicy(
  { cpuManagerPolicy, podPolicies = [] }: Pick<Settings, 'cpuManagerPolicy' | 'podPolicies'>,
  annotations: Annotations,
  containerName: string,
): ChosenPolicy & { readonly remarks: readonly Remark[] } {
  const remarks: Remark[] = [];
  for (const { annotation, values } of candidatesFor(annotations, containerName)) {
    const value = annotationOf(annotations, annotation);
    if (value === undefined) continue;
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
  return candidatesFor(annotations, containerName).flatMap(({ annotation, values }) => {
    const policy = values.find((name) => name === annotationOf(annotations, annotation));
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

/** Whether an annotation of this name chooses a policy, for whichever container. */
export function isChoice(annotation: string): boolean {
  return FAMILIES.some(
    ({ pod, container }) => annotation === pod || container.some((prefix) => annotation.startsWith(prefix)),
  );
}

/** Whether annotations have one that chooses; looked for once, and not again for each container. */
const mayChoose = oncePer((annotations: Annotations) => Object.keys(annotations).some(isChoice));

/** Annotations that may choose for the container, those that win first. Most pods have none of the kind: they cost one look. */
function candidatesFor(
  annotations: Annotations,
  containerName: string,
): readonly { readonly annotation: string; readonly values: readonly PolicyName[] }[] {
  if (!mayChoose(annotations)) return [];
  return [
    ...FAMILIES.flatMap(({ container, values }) =>
      container.map((prefix) => ({ annotation: prefix + containerName, values })),
    ),
    ...FAMILIES.map(({ pod, values }) => ({ annotation: pod, values })),
  ];
}
