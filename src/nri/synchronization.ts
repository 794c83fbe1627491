import type { ContainerInfo, PodInfo, RuntimeEvent } from '../core/model/events';
import { CpusetdError } from '../core/errors';
import { readSynchronize } from './messages/read-event';
import { toContainerInfo, toPodInfo } from './messages/to-core';

/** Far above what a node runs; a bound on what the pieces of one synchronization may add up to. */
const MAX_ITEMS = 100_000;

export type SynchronizeEvent = Extract<RuntimeEvent, { kind: 'synchronize' }>;

/**
 * Collects the pieces of one synchronization; the runtime splits what would not fit into one message. Pods and
 * containers are split independently: a container may come before its pod.
 */
export class Synchronization {
  private readonly pods: PodInfo[] = [];
  private readonly containers: ContainerInfo[] = [];
  private deadlineMs = Infinity;

  /**
   * Adds a piece that came at nowMs with timeoutMs left for its answer (all pieces share one deadline). Returns the
   * whole when this was the last one, else undefined. Throws CpusetdError for a piece that can't be read or is too much.
   */
  add(payload: Uint8Array, nowMs: number, timeoutMs: number): SynchronizeEvent | undefined {
    this.deadlineMs = Math.min(this.deadlineMs, nowMs + timeoutMs);
    const piece = readSynchronize(payload);
    for (const pod of piece.pods) this.pods.push(toPodInfo(pod));
    for (const container of piece.containers) this.containers.push(toContainerInfo(container));
    if (this.pods.length + this.containers.length > MAX_ITEMS) {
      throw new CpusetdError('RESOURCE_EXHAUSTED', `Synchronize: more than ${MAX_ITEMS} pods and containers`);
    }
    return piece.more ? undefined : { kind: 'synchronize', pods: this.pods, containers: this.containers };
  }

  /**
   * True when the runtime has stopped waiting. Runtimes before NRI 0.7 then keep the connection open but never send an
   * event on it, so nobody but us would notice.
   */
  isLate(nowMs: number): boolean {
    return nowMs >= this.deadlineMs;
  }
}
