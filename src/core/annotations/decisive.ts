import { oncePer } from '../once-per';
import { annotationOf, EXCLUDE_RESERVED, excludesReserved, MIRROR, MIRROR_HASH, type Annotations } from './annotations';
import { choiceNames, isChoice, listChoices } from './choose-policy';
import { formatTopologyResult, MAX_RESULT_LENGTH, resultOf, TOPOLOGY_RESULT } from './topology-result';

const OF_THE_POD: ReadonlySet<string> = new Set([EXCLUDE_RESERVED, TOPOLOGY_RESULT, MIRROR, MIRROR_HASH]);

/** Longest value that is kept of an annotation; only the scheduler's result may be longer. A uid has 36 characters. */
const MAX_VALUE_LENGTH = 128;
/** The number of annotations for single containers that are kept of a pod whose containers are not known. */
const MAX_KEPT = 1024;

/**
 * The annotations of a pod that decide anything here, with their values cut to what can decide: some kilobytes at most,
 * whatever the pod's author writes. Made once for each pod that comes in, at the door: what is behind it never meets the rest.
 *
 * `containerNames`: the containers of the pod, where they are known; annotations for others are left out, and nothing that is
 * not of use is looked at. Where they are not known, the first `MAX_KEPT` count.
 */
export function decisiveAnnotations(
  annotations: Readonly<Record<string, unknown>>,
  containerNames: readonly string[],
): Annotations {
  const kept = new DecisiveAnnotations(Infinity);
  for (const name of [...OF_THE_POD, ...choiceNames(containerNames)]) {
    const value = Object.hasOwn(annotations, name) ? annotations[name] : undefined;
    if (typeof value === 'string') kept.put(name, value);
  }
  return kept.all;
}

/** Of most pods nothing decides: for all of them what is made of annotations is made once. */
const NONE: Annotations = Object.freeze({});

/** Takes the annotations of a pod one by one, as they come in a message, and keeps those that decide. */
export class DecisiveAnnotations {
  /** Bytes of the shortest name of them all: a shorter one need not be looked at. */
  static readonly shortestName = 'cpusetd.io/policy'.length;
  private kept: Record<string, string> | undefined;
  readonly shortestKey = DecisiveAnnotations.shortestName;
  readonly wants = isDecisive;

  /** `room`: how many for single containers are kept. */
  constructor(private room = MAX_KEPT) {}

  /** The annotations that were kept. Once it was read, no more are put. */
  get all(): Annotations {
    return this.kept ?? NONE;
  }

  /** One that comes twice is what it was last. */
  readonly put = (name: string, value: string): void => {
    if (!isDecisive(name)) return;
    const kept = (this.kept ??= {});
    if (!OF_THE_POD.has(name) && !Object.hasOwn(kept, name) && --this.room < 0) return;
    kept[name] = cut(name, value);
  };
}

/** True for the name of an annotation that can decide anything. */
function isDecisive(name: string): boolean {
  return name.length >= DecisiveAnnotations.shortestName && (OF_THE_POD.has(name) || isChoice(name));
}

/**
 * The same in the form that is kept on disk: for these containers `digestAnnotations` and `choosePolicy` make the same of it, and the
 * scheduler's result is what was read of it.
 */
export function rememberedAnnotations(annotations: Annotations, containerNames: readonly string[]): Annotations {
  const decisive = decisiveAnnotations(annotations, containerNames);
  const result = annotationOf(decisive, TOPOLOGY_RESULT);
  return result === undefined ? decisive : { ...decisive, [TOPOLOGY_RESULT]: formatTopologyResult(result) };
}

/** A text that is too long for what it should be stays too long, and is copied: a part of a text keeps all of it in memory. */
function cut(name: string, value: string): string {
  const most = name === TOPOLOGY_RESULT ? MAX_RESULT_LENGTH : MAX_VALUE_LENGTH;
  if (value.length <= most) return value;
  return name === TOPOLOGY_RESULT ? TOO_LONG_RESULT : Array.from({ length: most }, (_, i) => value[i]).join('') + '…';
}

/** One text for all of them. */
const TOO_LONG_RESULT = ' '.repeat(MAX_RESULT_LENGTH + 1);

/**
 * All that the annotations of a pod say about one of its containers, as one text: equal texts say the same. What is not
 * understood counts as not said, so the text is short whatever the pod's author writes.
 */
export function digestAnnotations(annotations: Annotations, containerName: string): string {
  const choices = listChoices(annotations, containerName).map(({ annotation, policy }) => `${annotation}=${policy}`);
  const ofPod = resultOf(annotations) || excludesReserved(annotations) ? sayingOfPod(annotations) : '';
  return choices.length === 0 ? ofPod : [...choices, ...(ofPod === '' ? [] : [ofPod])].join(' ');
}

/** The part that holds for all containers alike. */
const sayingOfPod = oncePer((annotations: Annotations): string => {
  const parsed = resultOf(annotations);
  const result = parsed === undefined ? [] : [parsed.ok ? `result=${[...parsed.result].join(';')}` : 'result=?'];
  return [...result, ...(excludesReserved(annotations) ? ['not-reserved'] : [])].join(' ');
});
