import type { Metrics } from '../../admin/metrics/metrics';
import type { NodeView } from '../../core/model/node-model';
import type { Refusal } from '../../core/model/refusal';
import { listAlignments } from '../../core/topology';
import type { Transaction } from '../transaction/transactor';

/**
 * Counts what a transaction did. The kubelet tries a refused creation again and again, and each try is a refusal; the container
 * asked for CPUs once and did not get them once. `refused`: what is remembered of the refusal.
 */
export function countTransaction(
  metrics: Metrics,
  view: NodeView,
  { event, request, answer, moves, timing, isTentative }: Transaction,
  { isRetry, refused }: { readonly isRetry: boolean; readonly refused: Refusal | undefined },
): void {
  if (request && timing) metrics.decisionTook(timing.decideMs / 1000);
  if (moves.length > 0 && timing) metrics.cgroupWritesTook(timing.moveMs / 1000);
  if (isTentative) return;
  if (event !== 'create-container' && event !== 'container-starting') return;
  if (answer.kind === 'refuse') {
    const entitled = event === 'create-container' && !isRetry && (refused?.requested ?? 0) > 0;
    if (entitled) metrics.pinningRequested();
    metrics.refused(answer.code, { entitled });
    return;
  }
  if (request?.kind !== 'create-container') return;
  const container = view.containers.get(request.container.id);
  if (!container || container.entitled === 0) return;
  metrics.pinningRequested();
  const { placement, promise } = container;
  if (placement === 'exclusive' && promise) {
    for (const boundary of listAlignments(view.topology, promise.cpus)) metrics.allocationAligned(boundary);
  } else metrics.fellBack();
}
