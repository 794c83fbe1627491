import type { Status } from '../../admin/model/status';
import type { VerdictKind } from '../../core/verdict/judge';

/** The containers that are asked for. */
export interface StatusFilter {
  readonly namespace?: string;
  /** Name or uid. */
  readonly pod?: string;
  readonly verdicts?: ReadonlySet<VerdictKind>;
}

/** The verdicts for which an operator has to look at the container. */
export const BROKEN_VERDICTS: readonly VerdictKind[] = ['drifted', 'violated', 'unknown'];

/** True for a filter that lets everything through. */
export function isEmptyFilter(filter: StatusFilter): boolean {
  return Object.values(filter).every((each) => each === undefined);
}

export interface OfPod {
  readonly namespace: string;
  readonly pod: string;
  readonly podUid: string;
}

/** True for what belongs to the pods that the filter asks for. */
export function isOfPod(subject: OfPod, { namespace, pod }: Pick<StatusFilter, 'namespace' | 'pod'>): boolean {
  return (
    (namespace === undefined || subject.namespace === namespace) &&
    (pod === undefined || subject.pod === pod || subject.podUid === pod)
  );
}

/**
 * The status with those containers alone. CPUs that are idle, and refused containers, have no verdict: a filter by
 * verdict leaves them out.
 */
export function filterStatus(status: Status, filter: StatusFilter): Status {
  if (isEmptyFilter(filter)) return status;
  const { verdicts } = filter;
  const isMeant = (subject: OfPod): boolean => isOfPod(subject, filter);
  const { refused, ...node } = status.node;
  const latest = verdicts ? [] : (refused?.latest.filter(isMeant) ?? []);
  return {
    node: { ...node, ...(latest.length > 0 && { refused: { containers: latest.length, latest } }) },
    containers: status.containers.filter(
      (container) => isMeant(container) && (verdicts?.has(container.verdict.kind) ?? true),
    ),
    idle: verdicts ? [] : status.idle.filter(isMeant),
  };
}
