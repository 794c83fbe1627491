import type { Metrics } from '../../admin/metrics/metrics';
import type { NodeView } from '../../core/model/node-view';
import type { Refusal } from '../../core/model/refusal';
import { listAlignments } from '../../core/topology';
import type { Alarms } from '../alarms/alarms';
import type { Faults } from '../alarms/faults';
import type { SaveProblem, Transaction } from '../transaction/transaction';

export interface TransactionMetricsParts {
  readonly model: NodeView;
  /** Undefined where metrics are off. */
  readonly metrics: Metrics | undefined;
  readonly alarms: Alarms;
  readonly faults: Faults;
}

/** Counts transactions and saves. A save that fails is an alarm until one succeeds. */
export class TransactionMetrics {
  constructor(private readonly parts: TransactionMetricsParts) {}

  onSaved(tookMs: number, problem: SaveProblem | undefined): void {
    const { metrics, alarms, faults } = this.parts;
    faults.contain('counting a save', () => metrics?.stateWriteTook(tookMs / 1000));
    faults.contain('reporting a save', () => alarms.update('state-not-saved', '', problem?.because));
  }

  /**
   * The kubelet tries a refused creation again and again, and each try is a refusal; the container asked for CPUs once
   * and did not get them once. `refused`: what is remembered of the refusal.
   */
  count(
    { event, request, answer, moves, timing, isTentative }: Transaction,
    { isRetry, refused }: { readonly isRetry: boolean; readonly refused: Refusal | undefined },
  ): void {
    const { metrics, model } = this.parts;
    if (!metrics) return;
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
    const container = model.containers.get(request.container.id);
    if (!container || container.entitledCpus === 0) return;
    metrics.pinningRequested();
    const { placement, promise } = container;
    if (placement === 'exclusive' && promise) {
      for (const boundary of listAlignments(model.topology, promise.cpus)) metrics.allocationAligned(boundary);
    } else metrics.fellBack();
  }
}
