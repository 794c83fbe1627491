import type { ContainerInfo, PodInfo, RuntimeEvent } from '../core/model/events';
import { CpusetdError } from '../core/errors';
import { readSynchronize } from './read-event';
import { toContainerInfo, toPodInfo } from './to-core';

/** Most pods and containers in all pieces of one synchronization; no node runs nearly as many. */
const MAX_ITEMS = 100_000;

/**
 * Collects the pieces of one synchronization, which the runtime splits when it does not fit into one message. Pods and
 * containers are split independently: a container may come before its pod.
 */
export class Synchronization {
  private readonly pods: PodInfo[] = [];
  private readonly containers: ContainerInfo[] = [];

  /** Adds a piece; true when more follow. Throws CpusetdError for a piece that can't be read, or too many items. */
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
