import type { ContainerInfo, PodInfo, RuntimeEvent } from '../core/model/events';
import { CpusetdError } from '../core/errors';
import { readSynchronize } from './read-event';
import { toContainerInfo, toPodInfo } from './to-core';

/** Far above what a node runs; a bound on what the pieces of one synchronization may add up to. */
const MAX_ITEMS = 100_000;

/**
 * Collects the pieces of one synchronization; the runtime splits what would not fit into one message. Pods and
 * containers are split independently: a container may come before its pod.
 */
export class Synchronization {
  private readonly pods: PodInfo[] = [];
  private readonly containers: ContainerInfo[] = [];

  /** Adds a piece; true when more of them follow. Throws CpusetdError for a piece that can't be read or is too much. */
  add(payload: Uint8Array): boolean {
    const piece = readSynchronize(payload);
    for (const pod of piece.pods) this.pods.push(toPodInfo(pod));
    for (const container of piece.containers) this.containers.push(toContainerInfo(container));
    if (this.pods.length + this.containers.length > MAX_ITEMS) {
      throw new CpusetdError('RESOURCE_EXHAUSTED', `Synchronize: more than ${MAX_ITEMS} pods and containers`);
    }
    return piece.more;
  }

  /** The whole, after the last piece. */
  get event(): Extract<RuntimeEvent, { kind: 'synchronize' }> {
    return { kind: 'synchronize', pods: this.pods, containers: this.containers };
  }
}
