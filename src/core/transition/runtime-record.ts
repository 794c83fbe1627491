import { samePromise, type CpuPromise } from '../model/container';
import type { RuntimeEvent } from '../model/events';
import type { Draft } from './draft';

// The runtime's record of a container, which is its OCI spec, and the cpuset in the kernel, as updates change them.

/**
 * The runtime has applied an update. Where the promise has changed since the update was sent, the next move corrects
 * that.
 */
export function markUpdateApplied(
  draft: Draft,
  { containerId, carriedOut }: Extract<RuntimeEvent, { kind: 'container-updated' }>,
): void {
  const container = draft.model.containers.get(containerId);
  if (!container || !carriedOut) return;
  draft.put({ kind: 'put-container', container: { ...container, applied: carriedOut, runtimeRecord: carriedOut } });
}

/** The runtime's record is unknown from now on, so it is written again. */
export function dropRecord(draft: Draft, containerId: string): void {
  const container = draft.model.containers.get(containerId);
  if (!container) return;
  const { runtimeRecord: _unknown, ...rest } = container;
  draft.put({ kind: 'put-container', container: rest });
}

/**
 * cpusetd is about to send the runtime an update that carries `promise`. The runtime writes the cgroup too. Until it
 * answers, the cpuset in the kernel is unknown, so no move is left out.
 */
export function beginOwnUpdate(draft: Draft, containerId: string, promise: CpuPromise): void {
  const container = draft.model.containers.get(containerId);
  if (!container || samePromise(container.applied, promise)) return;
  const { applied: _applied, ...rest } = container;
  draft.put({ kind: 'put-container', container: rest });
}

/**
 * The runtime has written the update, or the answer of cpusetd to the update as it passed by. `before` is the runtime's
 * record from the time when the update began.
 */
export function endOwnUpdate(
  draft: Draft,
  containerId: string,
  { promise, before }: { readonly promise: CpuPromise; readonly before: CpuPromise | undefined },
): void {
  const container = draft.model.containers.get(containerId);
  if (!container) return;
  const { runtimeRecord, ...rest } = container;
  // The promise may have changed and changed back since the answer: the record is unknown then.
  const isSure = runtimeRecord === before || samePromise(runtimeRecord, promise);
  // A newer promise is carried out by its own move.
  const arrived = isSure && samePromise(container.promise, promise) && { applied: promise };
  draft.put({ kind: 'put-container', container: { ...rest, ...(isSure && { runtimeRecord: promise }), ...arrived } });
}
