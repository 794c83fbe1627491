import { CpuSet } from '../cpuset';
import type { Assignment } from '../model/assignment';
import type { RuntimeAnswer } from '../model/events';
import { KINDS } from '../model/pool-view';
import type { NodeView } from '../model/node-view';
import { plural } from '../text';
import { isInRuntime } from './api-has-pod';

/** Names of pods in a text for the operator, and the characters of each. */
const MOST_NAMES = 3;
const LONGEST_NAME = 128;

/**
 * The CPUs that nobody runs on and that are kept all the same, to follow the reason of a refusal; empty when there are none. They are kept for pods
 * that the scheduler has bound to this node and whose containers are still to be created, and for pods of which only the API server can
 * tell whether they are still there. `withNames`: also whose they are, of many the first. A refusal goes to the Events of the
 * pod, where names of other pods have no place.
 */
export function nameKept(
  view: NodeView,
  pod: { readonly uid: string },
  { withNames = false }: { readonly withNames?: boolean } = {},
): string {
  const { awaited } = view.specSource;
  const isKept = ({ kind, podUid }: Assignment): boolean => podUid !== pod.uid && KINDS[kind].claim !== 'numa-nodes';
  const isAwaited = (uid: string): boolean => awaited.has(uid) && !isInRuntime(view, uid);
  const planned = [...view.holdings.planned].filter((each) => isKept(each) && !isAwaited(each.podUid));
  const left = [...awaited].filter(isAwaited).flatMap((uid) => view.assignmentsOf(uid).filter(isKept));
  return [
    describe(planned, (names) => {
      const listed = withNames ? ` (${list(names)})` : '';
      return `${plural(names.length, 'pod')}${listed} that the scheduler has bound to this node and whose containers are still to be created`;
    }),
    describe(left, (names) => {
      const listed = withNames ? ` (${list(names)})` : '';
      return `pods${listed} from before the start of cpusetd until the API server (--kubeconfig) tells whether they are still there`;
    }),
  ].join('');
}

/** A refusal for lack of CPUs, with those that are kept. */
export function withKept<T extends RuntimeAnswer>(view: NodeView, pod: { readonly uid: string }, answer: T): T {
  if (answer.kind !== 'refuse' || answer.code !== 'RESOURCE_EXHAUSTED') return answer;
  return { ...answer, message: `${answer.message}${nameKept(view, pod)}` };
}

function describe(of: readonly Assignment[], whose: (names: readonly string[]) => string): string {
  const { size } = CpuSet.unionOf(of.map(({ cpus }) => cpus));
  if (size === 0) return '';
  const names = new Map(of.map(({ podUid, podNamespace, podName }) => [podUid, `${podNamespace}/${podName}`]));
  return `; ${plural(size, 'CPU is', 'CPUs are')} kept for ${whose([...names.values()])}`;
}

function list(names: readonly string[]): string {
  const shown = names
    .slice(0, MOST_NAMES)
    .map((name) => (name.length <= LONGEST_NAME ? name : `${name.slice(0, LONGEST_NAME)}…`));
  const more = names.length - shown.length;
  return [...shown, ...(more > 0 ? [`${more} more`] : [])].join(', ');
}
