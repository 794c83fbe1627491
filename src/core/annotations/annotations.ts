/** The annotations of a pod. */
export type Annotations = Readonly<Record<string, string>>;

/** The reason why an annotation is not followed. Both texts are written for the operator. */
export interface Remark {
  readonly annotation: string;
  readonly because: string;
}

export const EXCLUDE_RESERVED = 'topology.crane.io/exclude-reserved-cpus';

/** The value of an annotation, or undefined; names are the pod's choice, so inherited ones don't count. */
export function annotationOf(annotations: Annotations, name: string): string | undefined {
  return Object.hasOwn(annotations, name) ? annotations[name] : undefined;
}

/**
 * True for a pod that is to be kept off reserved CPUs, also where it shares. Only the exact text `true` says so, as in
 * Crane.
 */
export function excludesReserved(annotations: Annotations): boolean {
  return annotationOf(annotations, EXCLUDE_RESERVED) === 'true';
}

const SHOWN_LENGTH = 64;

/** A value as it may be shown: quoted, control characters escaped, and not longer than a line. */
export function quote(value: string): string {
  return value.length <= SHOWN_LENGTH
    ? JSON.stringify(value)
    : `${JSON.stringify(value.slice(0, SHOWN_LENGTH))}… (${value.length} characters)`;
}
