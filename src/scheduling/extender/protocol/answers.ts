import type { RequestedNodes, Victims } from './read-args';

/** The answer of filter: `ExtenderFilterResult`. @param failed the message of each node that was left out */
export function formatFilterResult(nodes: RequestedNodes, failed: ReadonlyMap<string, string>): object {
  const fits = (name: string): boolean => !failed.has(name);
  const passed =
    nodes.kind === 'names'
      ? { Nodes: null, NodeNames: nodes.names.filter(fits) }
      : { Nodes: { items: nodes.objects.filter((_, i) => fits(nodes.names[i]!)) }, NodeNames: null };
  return { ...passed, FailedNodes: Object.fromEntries(failed), FailedAndUnresolvableNodes: {}, Error: '' };
}

/** The answer of filter when nothing can be said: the scheduler tries the pod again, or goes on if the extender is ignorable. */
export function formatFilterError(error: string): object {
  return { Nodes: null, NodeNames: null, FailedNodes: {}, FailedAndUnresolvableNodes: {}, Error: error };
}

/** The answer of prioritize: `HostPriorityList`. The scheduler reads integers only. */
export function formatPriorities(names: readonly string[], scores: ArrayLike<number>): object {
  return names.map((Host, i) => ({ Host, Score: scores[i]! }));
}

/** The answer of bind: `ExtenderBindingResult`. An empty error = the pod is bound. */
export function formatBindingResult(error: string): object {
  return { Error: error };
}

/** The answer of preempt: `ExtenderPreemptionResult`, always with uids only. */
export function formatPreemptionResult(victims: ReadonlyMap<string, Victims>): object {
  const byNode = [...victims].map(([node, { uids, budgetViolations }]) => [
    node,
    { Pods: uids.map((UID) => ({ UID })), NumPDBViolations: budgetViolations },
  ]);
  return { NodeNameToMetaVictims: Object.fromEntries(byNode) as object };
}
