import type { NodeEvent } from '../../core/model/events';
import type { NodeView } from '../../core/model/node-view';
import type { ContainerCgroups } from './container-cgroups';

/**
 * Adds to a list of the runtime the container that this process runs in, if it is new: it always starts without
 * cpusetd, and nobody missed anything by that. It is the one whose cgroup has this process, which no pod can make its
 * own; names and labels are anyone's to choose. The kernel lists ids as this process sees them, so the node's PID
 * namespace is not needed.
 */
export function addOwnContainer(
  event: NodeEvent,
  view: Pick<NodeView, 'containers'>,
  { files, finder }: Pick<ContainerCgroups, 'files' | 'finder'>,
  pid = process.pid,
): NodeEvent {
  if (event.kind !== 'synchronize') return event;
  const own = event.containers.find((container) => {
    if (container.phase !== 'running' || view.containers.has(container.id)) return false;
    const list = finder.withCgroup(container, ({ path }) => files.listProcesses(path));
    return list.kind === 'found' && 'ids' in list && list.ids.includes(String(pid));
  });
  return own ? { ...event, own: own.id } : event;
}
