import { periodOf, type SchedulerPolicy } from '../policy/policy';
import { freshFigure, type NodeLoad } from './node-load';

/** A figure above its limit. */
export interface Overload {
  readonly metric: string;
  readonly value: number;
  readonly limit: number;
}

/**
 * The first predicate of the policy that the node does not meet, as the filter of crane-scheduler's plugin `Dynamic`: a
 * figure has to be greater than its limit. A figure that is missing or too old never keeps a pod away, nor does a limit
 * of 0.
 */
export function findOverload(policy: SchedulerPolicy, load: NodeLoad, nowMs: number): Overload | undefined {
  for (const { name, maxLimit } of policy.predicate) {
    if (maxLimit === 0) continue;
    const value = freshFigure(load, name, periodOf(policy, name), nowMs);
    if (value !== undefined && value > maxLimit) return { metric: name, value, limit: maxLimit };
  }
  return undefined;
}

/** The message of crane-scheduler for a node that its filter leaves out. */
export function describeOverload({ metric }: Pick<Overload, 'metric'>, node: string): string {
  return `Load[${metric}] of node[${node}] is too high`;
}

/** True for the owners of a pod of a DaemonSet, which may run on every node, whatever its load. */
export function isOfDaemonSet(owners: readonly { readonly kind: string }[]): boolean {
  return owners.some(({ kind }) => kind === 'DaemonSet');
}
