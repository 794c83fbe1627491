import { samePromise, type CpuPromise } from '../model/container';
import type { Draft } from './draft';

/**
 * cpusetd is about to send the runtime an update that carries `promise`. The runtime writes the cgroup too. Until it has answered nobody
 * knows which cpuset is there: the applied one is forgotten, so that any move is made.
 */
export function beginOwnUpdate(draft: Draft, containerId: string, promise: CpuPromise): void {
  const container = draft.model.containers.get(containerId);
  if (!container || samePromise(container.told, promise)) return;
  const { told: _told, ...rest } = container;
  draft.put({ kind: 'put-container', container: rest });
}

/**
 * The runtime has written what the update carried, or what we answered when it asked back while the update passed through it. `before`: the
 * runtime's record when the update began.
 */
export function endOwnUpdate(
  draft: Draft,
  containerId: string,
  { promise, before }: { readonly promise: CpuPromise; readonly before: CpuPromise | undefined },
): void {
  const container = draft.model.containers.get(containerId);
  if (!container) return;
  const { recorded, ...rest } = container;
  // The promise may have changed and changed back since the answer: then nobody knows what the record says.
  const isSure = recorded === before || samePromise(recorded, promise);
  // A promise that was made meanwhile was carried out by other means, or will be.
  const arrived = isSure && samePromise(container.promise, promise) && { told: promise };
  draft.put({ kind: 'put-container', container: { ...rest, ...(isSure && { recorded: promise }), ...arrived } });
}
