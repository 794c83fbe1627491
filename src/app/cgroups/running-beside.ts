import type { NodeEvent } from '../../core/model/events';
import type { NodeView } from '../../core/model/node-view';
import { listWitnesses } from '../../core/transition';
import type { ContainerCgroups } from './container-cgroups';

/** The process of a container is in its own cgroup, or a few below it. */
const MAX_DIRECTORIES = 16;

/**
 * Adds to a creation the containers of its pod that have processes now, where the decision depends on that. Few pods
 * need that, and their cgroups are some small files. A container that can't be looked at does not count as running.
 */
export function addRunningBeside(
  event: NodeEvent,
  view: NodeView,
  { files, finder }: Pick<ContainerCgroups, 'files' | 'finder'>,
): NodeEvent {
  if (event.kind !== 'create-container') return event;
  const running = listWitnesses(view, event).find((container) => {
    const list = finder.withCgroup(container, ({ path }) =>
      files.listThreads(path, { maxThreads: 1, maxDirectories: MAX_DIRECTORIES }),
    );
    return list.kind === 'found' && 'threads' in list && list.threads.length + list.hidden > 0;
  });
  return running ? { ...event, runsBeside: [running.id] } : event;
}
