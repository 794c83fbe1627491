import type { ContainerInfo, KnownBefore, NodeInventory, RuntimeEvent } from '../model/events';
import type { NodeView } from '../model/node-view';

/** The pods and containers that the model has now. Take it before the runtime is asked for lists. */
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

/**
 * Makes one event of lists that were taken while calls went on: what the model has learnt since then is newer than they
 * are. Who ended meanwhile does not come back, who came meanwhile is not described anew, who was started is not unmade.
 */
export function mergeInventory(
  node: NodeView,
  before: KnownBefore,
  { pods, containers }: NodeInventory,
): Extract<RuntimeEvent, { kind: 'synchronize' }> {
  const creating = new Set(
    [...node.containers.values()].filter(({ phase }) => phase === 'creating').map((container) => nameOf(container)),
  );
  const isNewer = (container: ContainerInfo): boolean => {
    const { id } = container;
    if (before.containerIds.has(id) !== node.containers.has(id)) return true;
    // Made in the runtime; the answer that tells its id is on its way.
    return !node.containers.has(id) && creating.has(nameOf(container));
  };
  return {
    kind: 'synchronize',
    before,
    pods: pods.filter(({ sandboxId }) => !before.sandboxIds.has(sandboxId) || node.pods.has(sandboxId)),
    containers: containers
      .filter((container) => !isNewer(container))
      .map((container) =>
        container.phase === 'created' && node.containers.get(container.id)?.phase === 'running'
          ? { ...container, phase: 'running' }
          : container,
      ),
  };
}

function nameOf({ sandboxId, name }: Pick<ContainerInfo, 'sandboxId' | 'name'>): string {
  return `${sandboxId}/${name}`;
}
