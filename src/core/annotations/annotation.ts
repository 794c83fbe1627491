/** The annotations of a pod. */
export type Annotations = Readonly<Record<string, string>>;

/** Why an annotation is not followed. Both texts are written for the operator. */
export interface Remark {
  readonly annotation: string;
  readonly because: string;
}

/** The value of an annotation, or undefined; names are the pod's choice, so inherited ones don't count. */
export function annotationOf(annotations: Annotations, name: string): string | undefined {
  return Object.hasOwn(annotations, name) ? annotations[name] : undefined;
}

const SHOWN_LENGTH = 64;

/** A value as it may be shown: quoted, control characters escaped, and not longer than a line. */
export function quote(value: string): string {
  return value.length <= SHOWN_LENGTH
    ? JSON.stringify(value)
    : `${JSON.stringify(value.slice(0, SHOWN_LENGTH))}… (${value.length} characters)`;
}
