import type { Metrics } from '../admin/metrics';
import type { NodeView } from '../core/model/node-model';
import { listAlignments } from '../core/topology/alignment';
import type { Transaction } from './transactor';

/** Counts what a transaction did. */
export function countTransaction(
  metrics: Metrics,
  view: NodeView,
  { request, answer, moves, timing }: Transaction,
): void {
  if (request) metrics.decisionTook(timing.decideMs / 1000);
  if (moves.length > 0) metrics.cgroupWritesTook(timing.moveMs / 1000);
  if (request?.kind !== 'create-container') return;
  if (answer.kind === 'refuse') {
    metrics.pinningRequested();
    metrics.refused(answer.code, { entitled: true });
    return;
  }
  const container = view.containers.get(request.container.id);
  if (!container || container.entitled === 0) return;
  metrics.pinningRequested();
  const { placement, promise } = container;
  if (placement === 'exclusive' && promise) {
    for (const boundary of listAlignments(view.topology, promise.cpus)) metrics.allocationAligned(boundary);
  } else metrics.fellBack();
}
