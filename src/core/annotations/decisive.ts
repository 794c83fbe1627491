import { oncePer } from '../once-per';
import { EXCLUDE_RESERVED, excludesReserved, type Annotations } from './annotations';
import { MIRROR, MIRROR_HASH } from '../model/pod-kinds';
import { choiceNames, isChoice, listChoices } from './choose-policy';
import { identityNames, isIdentityChoice } from './cpu-identity';
import { isLeaveAloneChoice, leaveAloneNames } from './leave-alone';
import { formatTopologyResult, MAX_RESULT_LENGTH, resultOf, TOPOLOGY_RESULT } from './topology-result';

const OF_THE_POD: ReadonlySet<string> = new Set([EXCLUDE_RESERVED, TOPOLOGY_RESULT, MIRROR, MIRROR_HASH]);

/** Longest value that is kept of an annotation; only the scheduler's result may be longer. A uid has 36 characters. */
const MAX_VALUE_LENGTH = 128;
/** The number of annotations for single containers that are kept of a pod whose containers are not known. */
const MAX_KEPT = 1024;

/**
 * The annotations of a pod that decide anything here, with their values cut to what can decide: some kilobytes at most,
 * whatever the pod's author writes. Made once for each pod where it is read: the rest never goes further.
 *
 * `containerNames`: the containers of the pod, where they are known; annotations for others are left out, and nothing
 * that is not of use is looked at. Where they are not known, the first `MAX_KEPT` count.
 */
export function decisiveAnnotations(
  annotations: Readonly<Record<string, unknown>>,
  containerNames: readonly string[],
): Annotations {
  const kept = new DecisiveAnnotations(Infinity);
  for (const name of [
    ...OF_THE_POD,
    ...choiceNames(containerNames),
    ...identityNames(containerNames),
    ...leaveAloneNames(containerNames),
  ]) {
    const value = Object.hasOwn(annotations, name) ? annotations[name] : undefined;
    if (typeof value === 'string') kept.put(name, value);
  }
  return kept.all;
}

/** Most pods have no such annotation: they share one object, so that what is derived from it is computed once. */
const NONE: Annotations = Object.freeze({});

/** Takes the annotations of a pod one by one, as they come in a message, and keeps those that decide. */
export class DecisiveAnnotations {
  /** Bytes of the shortest name that can decide: a shorter one is skipped. */
  static readonly shortestName = 'cpusetd.io/policy'.length;
  private kept: Record<string, string> | undefined;
  readonly shortestKey = DecisiveAnnotations.shortestName;
  readonly wants = isDecisive;

  /** `left`: how many more for single containers are kept. */
  constructor(private left = MAX_KEPT) {}

  /** The annotations that were kept. No more may be put after it was read. */
  get all(): Annotations {
    return this.kept ?? NONE;
  }

  /** The last value of a repeated name counts. */
  readonly put = (name: string, value: string): void => {
    if (!isDecisive(name)) return;
    const kept = (this.kept ??= {});
    if (!OF_THE_POD.has(name) && !Object.hasOwn(kept, name) && --this.left < 0) return;
    kept[name] = cut(name, value);
  };
}

/** True for the name of an annotation that can decide anything. */
function isDecisive(name: string): boolean {
  return (
    name.length >= DecisiveAnnotations.shortestName &&
    (OF_THE_POD.has(name) || isChoice(name) || isIdentityChoice(name) || isLeaveAloneChoice(name))
  );
}

/**
 * The annotations of a spec in the form that is kept on disk: `digestAnnotations` and `choosePolicy` make the same of
 * it, and the scheduler's result is what was read of it.
 */
export function rememberedAnnotations(annotations: Annotations): Annotations {
  const kept = new DecisiveAnnotations(Infinity);
  for (const [name, value] of Object.entries(annotations)) kept.put(name, value);
  const result = resultOf(annotations);
  return result === undefined ? kept.all : { ...kept.all, [TOPOLOGY_RESULT]: formatTopologyResult(result) };
}

/**
 * Cuts a text, so that it still is too long to be valid, and copies it: a part of a string keeps the whole string in
 * memory.
 */
function cut(name: string, value: string): string {
  const most = name === TOPOLOGY_RESULT ? MAX_RESULT_LENGTH : MAX_VALUE_LENGTH;
  if (value.length <= most) return value;
  return name === TOPOLOGY_RESULT ? TOO_LONG_RESULT : Array.from({ length: most }, (_, i) => value[i]).join('') + '…';
}

/** Stands for every result that is too long. */
const TOO_LONG_RESULT = ' '.repeat(MAX_RESULT_LENGTH + 1);

/**
 * All that the annotations of a pod say about one of its containers, as one text: equal texts say the same. What is not
 * understood counts as not said, so the text is short whatever the pod's author writes.
 */
export function digestAnnotations(annotations: Annotations, containerName: string): string {
  const choices = listChoices(annotations, containerName).map(({ annotation, policy }) => `${annotation}=${policy}`);
  const ofPod = resultOf(annotations) || excludesReserved(annotations) ? digestOfPod(annotations) : '';
  return choices.length === 0 ? ofPod : [...choices, ...(ofPod === '' ? [] : [ofPod])].join(' ');
}

/** The part that holds for all containers alike. */
const digestOfPod = oncePer((annotations: Annotations): string => {
  const parsed = resultOf(annotations);
  const result = parsed === undefined ? [] : [parsed.ok ? `result=${[...parsed.result].join(';')}` : 'result=?'];
  return [...result, ...(excludesReserved(annotations) ? ['not-reserved'] : [])].join(' ');
});
