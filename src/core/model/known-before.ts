import type { KnownBefore } from './events';
import type { NodeView } from './node-model';

/** What the model knows now. Take it before the runtime is asked for lists. */
export function takeKnown(view: NodeView): KnownBefore {
  return {
    sandboxIds: new Set(view.pods.keys()),
    // One that is being made may not be in the lists yet: they say nothing of it.
    containerIds: new Set(
      [...view.containers.values()].filter(({ phase }) => phase !== 'creating').map(({ id }) => id),
    ),
    podUids: new Set([...view.assignments.values()].map(({ podUid }) => podUid)),
  };
}
