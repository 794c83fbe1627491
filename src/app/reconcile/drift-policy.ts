import type { DriftPolicy } from '../../core/transition';
import type { RepairDecision } from '../../core/verdict/repair-backoff';
import type { DaemonContext } from '../context';
import type { DriftDiagnosis } from './drift-diagnosis';
import type { RepairHistory } from './repair-history';

export interface DriftPolicyParts {
  readonly faults: DaemonContext['faults'];
  readonly diagnosis: DriftDiagnosis;
  readonly repairs: RepairHistory;
  readonly nowMs: number;
  /** Another writer has just written these containers' cgroups. */
  readonly written: boolean;
}

/** The policy of one sweep. It decides on each container once, however often it is asked. */
export function driftPolicy({ faults, diagnosis, repairs, nowMs, written }: DriftPolicyParts): DriftPolicy {
  const decisions = new Map<string, RepairDecision>();
  return {
    explain: (container, seen) =>
      faults.contain(
        'explaining the drift of',
        () => diagnosis.diagnose(container, { seen, repairs: repairs.repairsOf(container.id), nowMs }),
        container.id,
      ) ?? { cause: 'unknown-writer', because: 'looking for the cause failed' },
    decideRepair: ({ id, promise }) => {
      const decision = decisions.get(id) ?? repairs.decideRepair(id, { promise: promise!, nowMs, written });
      decisions.set(id, decision);
      return decision;
    },
  };
}
