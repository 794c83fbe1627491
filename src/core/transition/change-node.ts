import type { Settings } from '../model/settings';
import type { Move } from '../plan/plan-moves';
import type { Topology } from '../topology';
import type { Draft } from './draft';
import { planChanges } from './handle';
import { retryPending } from './reassign-freed';

/**
 * Takes over new rules. They are for containers that are to come, and for those that wait for CPUs: there may be more
 * now. Whatever has an assignment keeps it, under the rules that it was given by. Returns the moves of shared
 * containers whose pool has changed.
 */
export function changeSettings(draft: Draft, settings: Settings): readonly Move[] {
  draft.put({ kind: 'set-settings', settings });
  retryPending(draft);
  return planChanges(draft);
}

/**
 * Takes over the CPUs that are online now. Assignments do not change: they say whose a CPU is. CPUs that are back are
 * for those who lack some. Returns the moves of containers whose CPUs or whose pool have changed.
 */
export function changeTopology(draft: Draft, topology: Topology): readonly Move[] {
  draft.put({ kind: 'set-topology', topology });
  retryPending(draft);
  return planChanges(draft);
}
