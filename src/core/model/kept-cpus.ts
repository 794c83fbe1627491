import { CpuSet } from '../cpuset';
import { plural } from '../text';
import type { Assignment } from './assignment';
import type { NodeView } from './node-view';
import { isInRuntime } from './pod-presence';
import { KINDS } from './pool-view';

/** Names of pods in a text for the operator, and the characters of each. */
const MAX_NAMES = 3;
const MAX_NAME_LENGTH = 128;

/**
 * True for CPUs that only the word of the API server keeps: the runtime has nothing of their pod any more. They are for
 * its next sandbox; while the API server is away, the pod may be gone for good.
 */
export function isKeptByApiServer(view: NodeView, { containerId, planned, podUid }: Assignment): boolean {
  if (!view.synchronized || containerId !== null) return false;
  return (planned !== true || view.specSource.awaited.has(podUid)) && !isInRuntime(view, podUid);
}

/**
 * The CPUs that other pods keep although no process of theirs runs there, as a text that follows the reason of a
 * refusal; empty when there are none. They are kept for pods that the scheduler has bound to this node and whose
 * containers are still to be created, and for pods of which only the API server knows.
 *
 * `withNames` adds the names of the pods, the first few of many. A refusal goes to the Events of its pod, which must
 * not name others.
 */
export function describeKeptCpus(
  view: NodeView,
  pod: { readonly uid: string },
  { withNames = false }: { readonly withNames?: boolean } = {},
): string {
  const { awaited } = view.specSource;
  const isKept = ({ kind, podUid }: Assignment): boolean => podUid !== pod.uid && KINDS[kind].claim !== 'numa-nodes';
  const isAwaited = (uid: string): boolean => awaited.has(uid) && !isInRuntime(view, uid);
  const planned = [...view.holdings.planned].filter((each) => isKept(each) && !isAwaited(each.podUid));
  const unconfirmed = [...awaited].filter(isAwaited).flatMap((uid) => view.assignmentsOf(uid).filter(isKept));
  const absent = [...view.holdings.idle].filter(
    (each) => isKept(each) && !awaited.has(each.podUid) && isKeptByApiServer(view, each),
  );
  return [
    describe(planned, (names) => {
      const listed = withNames ? ` (${list(names)})` : '';
      return `${plural(names.length, 'pod')}${listed} that the scheduler has bound to this node and whose containers are still to be created`;
    }),
    describe(unconfirmed, (names) => {
      const listed = withNames ? ` (${list(names)})` : '';
      return `pods${listed} from before the start of cpusetd until the API server (--kubeconfig) says whether they are still there`;
    }),
    describe(absent, (names) => {
      const listed = withNames ? ` (${list(names)})` : '';
      return `${plural(names.length, 'pod')}${listed} that the API server (--kubeconfig) had when it last sent its pods, and of which the runtime has nothing any more`;
    }),
  ].join('');
}

function describe(assignments: readonly Assignment[], ownersOf: (names: readonly string[]) => string): string {
  const { size } = CpuSet.unionOf(assignments.map(({ cpus }) => cpus));
  if (size === 0) return '';
  const names = new Map(assignments.map(({ podUid, podNamespace, podName }) => [podUid, `${podNamespace}/${podName}`]));
  return `; ${plural(size, 'CPU is', 'CPUs are')} kept for ${ownersOf([...names.values()])}`;
}

function list(names: readonly string[]): string {
  const shown = names
    .slice(0, MAX_NAMES)
    .map((name) => (name.length <= MAX_NAME_LENGTH ? name : `${name.slice(0, MAX_NAME_LENGTH)}…`));
  const more = names.length - shown.length;
  return [...shown, ...(more > 0 ? [`${more} more`] : [])].join(', ');
}
