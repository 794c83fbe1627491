import type { RuntimeEvent } from '../model/events';
import type { Draft } from './draft';

/**
 * The runtime has written what an update carried. Where the promise has changed meanwhile, that was older: the move that
 * follows puts it right.
 */
export function learnUpdate(
  draft: Draft,
  { containerId, carriedOut }: Extract<RuntimeEvent, { kind: 'container-updated' }>,
): void {
  const container = draft.model.containers.get(containerId);
  if (!container || !carriedOut) return;
  draft.put({ kind: 'put-container', container: { ...container, told: carriedOut, recorded: carriedOut } });
}

/** What the runtime's record says is not known any more: it is written again. */
export function forgetRecord(draft: Draft, containerId: string): void {
  const container = draft.model.containers.get(containerId);
  if (!container) return;
  const { recorded: _unknown, ...rest } = container;
  draft.put({ kind: 'put-container', container: rest });
}
