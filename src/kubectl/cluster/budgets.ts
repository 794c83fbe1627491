import { asArray, asObject } from '../../kube';
import { labelOf, matches } from './match-labels';
import type { Budget, ClusterPod } from './read-cluster';

/** The budgets that let no pod of theirs be evicted now, and that this pod belongs to. */
export function findBlockingBudgets(pod: ClusterPod, budgets: readonly Budget[]): Budget[] {
  const { namespace } = pod.place.spec;
  const labels = asObject(pod.object.metadata['labels']);
  return budgets.filter(
    (budget) => budget.namespace === namespace && budget.disruptionsAllowed < 1 && selects(budget.selector, labels),
  );
}

/** An empty selector selects all pods of the namespace, an absent one none (policy/v1). */
function selects(selector: unknown, labels: Readonly<Record<string, unknown>>): boolean {
  if (selector === undefined || selector === null) return false;
  const { matchLabels, matchExpressions } = asObject(selector);
  return (
    Object.entries(asObject(matchLabels)).every(([key, value]) => labelOf(labels, key) === value) &&
    asArray(matchExpressions).every((each) => matches(asObject(each), labels))
  );
}
