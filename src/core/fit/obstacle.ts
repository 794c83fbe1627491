import { plural } from '../text';
import { CPU } from './amounts';

/** The reason why a pod does not fit, with its figures: CPU in thousandths, other resources in whole units. */
export type Obstacle =
  | { readonly kind: 'no-topology' }
  | { readonly kind: 'unreadable-rules' }
  | { readonly kind: 'split-core'; readonly container: string; readonly count: number; readonly cpusPerCore: number }
  /**
   * `zones`: the most zones that it may lie in; absent = any number of them. `container`: empty for the pod as a whole.
   */
  | {
      readonly kind: 'too-little';
      readonly container: string;
      readonly resource: string;
      readonly wanted: number;
      readonly available: number;
      readonly zones?: number;
    }
  /** The container would fit alone. */
  | { readonly kind: 'beside-others'; readonly container: string; readonly wanted: number };

/** Messages of crane-scheduler, without figures: kube-scheduler counts nodes with the same message. */
export const NO_TOPOLOGY = 'node(s) failed to get NRT';
export const INSUFFICIENT = 'node(s) had insufficient resource of NUMA node';
/** Messages for what crane-scheduler does not know. */
export const UNREADABLE_RULES = 'node(s) publish rules that this version of cpusetd can not read';
export const wholeCoresOnly = (cpus: number): string => `node(s) give whole cores of ${cpus} CPUs only`;

/** The message for a scheduler. */
export function messageOf(obstacle: Obstacle): string {
  switch (obstacle.kind) {
    case 'no-topology':
      return NO_TOPOLOGY;
    case 'unreadable-rules':
      return UNREADABLE_RULES;
    case 'split-core':
      return wholeCoresOnly(obstacle.cpusPerCore);
    default:
      return INSUFFICIENT;
  }
}

/** A sentence for people. */
export function describeObstacle(obstacle: Obstacle): string {
  switch (obstacle.kind) {
    case 'no-topology':
      return 'it publishes no NodeResourceTopology, so its free CPUs are not known';
    case 'unreadable-rules':
      return 'its NodeResourceTopology has rules that this version can not read; use the version of the node';
    case 'split-core': {
      const { container, count, cpusPerCore } = obstacle;
      return `whole cores of ${cpusPerCore} CPUs are given, and ${nameOf(container)}${count} is no multiple of it`;
    }
    case 'too-little': {
      const { container, resource, wanted, available, zones } = obstacle;
      const are = resource === CPU && wanted === 1_000 ? 'is' : 'are';
      const amountOf = (amount: number): string =>
        resource === CPU ? plural(amount / 1_000, 'CPU') : `${amount} of ${resource}`;
      if (zones === undefined)
        return `${amountOf(wanted)} ${are} needed, ${resource === CPU ? available / 1_000 : available} free`;
      const where = zones === 1 ? 'one NUMA node' : `${zones} NUMA nodes`;
      const most = resource === CPU ? available / 1_000 : available;
      return `${nameOf(container)}${amountOf(wanted)} in ${where} ${are} needed, the most is ${most}`;
    }
    case 'beside-others':
      return `${nameOf(obstacle.container)}no NUMA node has ${plural(obstacle.wanted / 1_000, 'CPU')} beside the pod's other containers`;
  }
}

const nameOf = (container: string): string => (container === '' ? '' : `${container}: `);
