import { CpuSet } from '../cpuset';
import { planMoves, type Move } from '../plan/plan-moves';
import { judge, type Verdict } from '../verdict/judge';
import type { Observation } from '../verdict/observation';
import type { Draft } from './draft';

export interface Judged {
  readonly containerId: string;
  readonly verdict: Verdict;
}

/**
 * Compares what was promised with what the kernel has. What drifted is learnt as it is; the moves that come back put
 * it right, on the same path as any other change.
 */
export function reconcile(
  draft: Draft,
  observations: ReadonlyMap<string, Observation>,
): { readonly judged: readonly Judged[]; readonly moves: readonly Move[] } {
  const judged: Judged[] = [];
  for (const [containerId, observation] of observations) {
    const container = draft.model.containers.get(containerId);
    if (!container) continue;
    const verdict = judge(draft.model, container, observation);
    judged.push({ containerId, verdict });
    if (verdict.kind === 'drifted' && observation.kind === 'seen') {
      const { told: _told, ...rest } = container;
      const { cpus, mems } = observation;
      const seen = { cpus, mems: container.promise?.mems.isEmpty ? CpuSet.empty : mems };
      draft.put({ kind: 'put-container', container: { ...rest, told: seen } });
      draft.note('warn', 'drifted', {
        containerId,
        podUid: container.podUid,
        container: container.name,
        promised: container.promise?.cpus.toString(),
        found: cpus.toString(),
        because: verdict.because,
      });
    }
  }
  return { judged, moves: planMoves(draft) };
}
