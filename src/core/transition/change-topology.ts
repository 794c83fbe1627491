import type { Move } from '../plan/plan-moves';
import type { Topology } from '../topology';
import type { Draft } from './draft';
import { planChanges } from './handle';
import { retryPending } from './reassign-freed';

/**
 * Takes over the CPUs that are online now. Assignments do not change: they say whose a CPU is. CPUs that are back are for those who lack some.
 * Returns the moves of containers whose CPUs or whose pool have changed.
 */
export function changeTopology(draft: Draft, topology: Topology): readonly Move[] {
  draft.put({ kind: 'set-topology', topology });
  retryPending(draft);
  return planChanges(draft);
}
