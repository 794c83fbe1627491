import { hasCgroup, samePromise, type Container } from '../../core/model/container';

/**
 * True when the runtime's record of the container does not say what is promised. False while the container is being
 * started: an update that arrives then is lost. It is checked again when it runs.
 */
export function needsRecord(container: Container | undefined): container is Container {
  if (!container?.promise) return false;
  const { phase, promise, runtimeRecord } = container;
  return (phase === 'running' || phase === 'created') && !samePromise(runtimeRecord, promise);
}

/** True when kernel and record have what is promised; without a cgroup only the record counts. */
export function isApplied(container: Container): boolean {
  const { promise, runtimeRecord } = container;
  return samePromise(promise, runtimeRecord) && (!hasCgroup(container) || isInKernel(container));
}

/** True when the container runs on its CPUs, so that at most the record is behind. */
export function isInKernel(container: Container): boolean {
  return hasCgroup(container) && samePromise(container.promise, container.applied);
}
