import type { NodeView } from '../../core/model/node-view';
import { isAssigned } from '../../core/model/pool-view';
import { PUBLISHED_VERDICTS, type PublishedVerdict } from '../../core/verdict/published-verdicts';
import type { PromiseCounts } from '../../kube';
import type { VerdictStore } from './verdict-store';

/** Counts the promises of the node, and those for which an operator looks at it. */
export function countPromises(
  { allContainers, containers }: Pick<NodeView, 'allContainers' | 'containers'>,
  verdicts: Pick<VerdictStore, 'get'>,
): PromiseCounts {
  let pinned = 0;
  for (const container of containers.values()) if (isAssigned(container)) pinned++;
  const counts = new Map<PublishedVerdict, number>();
  for (const [id, { promise }] of allContainers) {
    const verdict = promise && verdicts.get(id)?.verdict.kind;
    const kind = PUBLISHED_VERDICTS.find((known) => known === verdict);
    if (kind) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  // Always in the same order: what is equal is not published again.
  const verdictCounts = PUBLISHED_VERDICTS.flatMap((kind) => (counts.has(kind) ? [[kind, counts.get(kind)!]] : []));
  return { pinned, verdicts: Object.fromEntries(verdictCounts) as PromiseCounts['verdicts'] };
}
