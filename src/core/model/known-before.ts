import type { KnownBefore } from './events';
import type { NodeView } from './node-model';

/** What the model knows now. Take it before the runtime is asked for lists. */
export function takeKnown(view: NodeView): KnownBefore {
  return {
    sandboxIds: new Set(view.pods.keys()),
    containerIds: new Set(view.containers.keys()),
    podUids: new Set([...view.assignments.values()].map(({ podUid }) => podUid)),
  };
}
