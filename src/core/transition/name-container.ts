import { keyOf } from '../model/assignment';
import type { RuntimeEvent } from '../model/events';
import type { Draft } from './draft';

/**
 * The container under creation has its own id now. Nothing that was decided changes with it: should the process end here,
 * its assignment is found again by pod and name.
 */
export function nameContainer(
  draft: Draft,
  { temporaryId, containerId, cgroupsPath }: Extract<RuntimeEvent, { kind: 'container-named' }>,
): void {
  const container = draft.model.containers.get(temporaryId);
  if (!container) return;
  draft.put({ kind: 'drop-container', id: temporaryId });
  draft.put({ kind: 'put-container', container: { ...container, id: containerId, cgroupsPath, phase: 'created' } });
  const key = keyOf({ podUid: container.podUid, containerName: container.name });
  const assignment = draft.model.assignments.get(key);
  if (assignment?.containerId === temporaryId) {
    draft.put({ kind: 'put-assignment', assignment: { ...assignment, containerId } });
  }
}
