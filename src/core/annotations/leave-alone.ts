import type { LeaveAloneRule, Settings } from '../model/settings';
import { matchesPattern } from '../name-pattern';
import { oncePer } from '../once-per';
import { annotationOf, quote, type Annotations, type Remark } from './annotations';

/** A part of a container that cpusetd does not touch: all of it, or its memory nodes. */
export type LeftAlone = 'all' | 'memory';

/** The part of a container that is left alone, with the reason; absent = none. */
export interface LeaveAloneChoice {
  readonly leaves?: { readonly part: LeftAlone; readonly because: string };
  readonly remarks: readonly Remark[];
}

/** The names of a pod that a rule is compared with. */
interface PodNames {
  readonly namespace: string;
  readonly name: string;
}

/** One key, and the value of it that leaves a part of a container alone. */
interface Key {
  /** For the whole pod, those that win first. */
  readonly pod: readonly string[];
  /** For one container, whose name follows. */
  readonly container: readonly string[];
  readonly values: Readonly<Record<string, LeftAlone | undefined>>;
}

/** The keys of nri-plugins, in their three forms: for a container, for the pod, and without a slash for the pod too. */
const preserve = (what: string, part: LeftAlone): Key => ({
  pod: [`${what}.preserve.resource-policy.nri.io/pod`, `${what}.preserve.resource-policy.nri.io`],
  container: [`${what}.preserve.resource-policy.nri.io/container.`],
  values: { true: part, false: undefined },
});

/**
 * Kubernetes allows one slash in the name of an annotation, so through an API server only the second form for a
 * container passes.
 */
const KEYS: readonly Key[] = [
  {
    pod: ['cpusetd.io/leave-alone'],
    container: ['cpusetd.io/leave-alone/container.', 'leave-alone.cpusetd.io/container.'],
    values: { all: 'all', memory: 'memory', off: undefined },
  },
  preserve('cpu', 'all'),
  preserve('memory', 'memory'),
];

const NO_RULES: readonly LeaveAloneRule[] = [];

const NOTHING: LeaveAloneChoice = { remarks: [] };

/**
 * The part of a container that is left alone: by a rule of the operator, else by an annotation of its pod where the
 * operator lets pods ask. Of one key an annotation for the container comes before one for the pod; of several keys the
 * one that leaves more alone decides. An annotation that is not followed is remarked.
 */
export function chooseLeaveAlone(
  { leaveAlone = NO_RULES, podLeaveAlone = false }: Pick<Settings, 'leaveAlone' | 'podLeaveAlone'>,
  pod: PodNames & { readonly annotations: Annotations },
  containerName: string,
): LeaveAloneChoice {
  const rule = rulesOfPods(leaveAlone)(pod).find(
    ({ container }) => container === undefined || matchesPattern(containerName, container),
  );
  if (rule) return { leaves: { part: 'all', because: `the operator's rule ${rule.text} says so` }, remarks: [] };
  if (!mayAsk(pod.annotations)) return NOTHING;
  const remarks: Remark[] = [];
  const asked: NonNullable<LeaveAloneChoice['leaves']>[] = [];
  for (const { pod: ofPod, container, values } of KEYS)
    for (const annotation of [...container.map((prefix) => prefix + containerName), ...ofPod]) {
      const value = annotationOf(pod.annotations, annotation);
      if (value === undefined) continue;
      const isKnown = Object.hasOwn(values, value);
      const part = isKnown ? values[value] : undefined;
      if (!isKnown)
        remarks.push({ annotation, because: `${quote(value)} is none of ${Object.keys(values).join(', ')}` });
      else if (part && !podLeaveAlone)
        remarks.push({
          annotation,
          because: 'the operator does not let pods ask to be left alone (--pod-leave-alone)',
        });
      else if (part) asked.push({ part, because: `its pod's annotation ${annotation} says so` });
      if (isKnown) break;
    }
  const leaves = asked.find(({ part }) => part === 'all') ?? asked[0];
  return { ...(leaves && { leaves }), remarks };
}

/** The names of all annotations of this kind for these containers. */
export function leaveAloneNames(containerNames: readonly string[]): string[] {
  return KEYS.flatMap(({ pod, container }) => [
    ...pod,
    ...container.flatMap((prefix) => containerNames.map((name) => prefix + name)),
  ]);
}

/** True for the name of an annotation of this kind, for whichever container. */
export function isLeaveAloneChoice(annotation: string): boolean {
  return KEYS.some(
    ({ pod, container }) => pod.includes(annotation) || container.some((prefix) => annotation.startsWith(prefix)),
  );
}

/** True for a pod with an annotation of this kind; found once for all its containers. */
const mayAsk = oncePer((annotations: Annotations): boolean => Object.keys(annotations).some(isLeaveAloneChoice));

/**
 * The rules whose namespace and pod are those of a pod: found once for all its containers, however many rules there
 * are.
 */
const rulesOfPods = oncePer((rules: readonly LeaveAloneRule[]) =>
  oncePer((pod: PodNames) =>
    rules.filter(
      (rule) =>
        matchesPattern(pod.namespace, rule.namespace) && (rule.pod === undefined || matchesPattern(pod.name, rule.pod)),
    ),
  ),
);
