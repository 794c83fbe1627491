import type { Container } from '../../core/model/container';
import type { RuntimeEvent } from '../../core/model/events';
import { isInKernel, needsRecord } from './record-state';

/** Maximum number of concurrent updates without a waiting caller, where only the runtime can move the container. */
const URGENT_AT_ONCE = 2;
/** Minimum delay after a change: changes within this time are written as one. */
export const COLLECT_MS = 200;
/** Other records are written when the runtime has made and ended nothing for this time. */
const QUIET_MS = 3_000;
/** Records that have waited this long are also written while the runtime is at work, one at a time with long pauses. */
const PATIENCE_MS = 60_000;
const LONGEST_PAUSE_MS = 100;
/** Total time of the pauses between many records: with the quiet before them, calm need last no 30 s. */
const SPREAD_MS = 10_000;

/** Work of the runtime that an update would compete with, and after which the pool may change again. */
const WORK: ReadonlySet<string> = new Set<RuntimeEvent['kind']>([
  'pod-started',
  'pod-stopped',
  'pod-removed',
  'create-container',
  'container-named',
  'container-created',
  'container-starting',
  'container-started',
  'container-stopped',
  'container-removed',
]);

/** A record to write now, or the time until one may be written. */
export type NextRecord = { readonly containerId: string } | { readonly delayMs: number };

export interface ScheduleState {
  readonly nowMs: number;
  /** Number of updates in flight. */
  readonly inFlight: number;
  /** True when the runtime is making a sandbox or a container that the model does not show yet. */
  readonly isMaking: () => boolean;
}

/**
 * Decides which record is written next, and when. Containers that only the runtime can move come first; other records
 * wait until the runtime is quiet. Has no clock and no timer: times are parameters, of one monotonic clock.
 */
export class RecordSchedule {
  /** Containers that only the runtime can move. */
  private readonly urgent = new Set<string>();
  /** Containers whose record alone is behind; the longest behind is first. */
  private readonly behind = new Set<string>();
  /** Time since which there has been a record behind without a break. */
  private behindSinceMs = 0;
  /** The model had a container that was being made at the last refresh. */
  private wasMaking = false;
  private workedMs = -Infinity;
  private lastWrite = { endMs: -Infinity, tookMs: 0 };

  /** An event of the runtime has arrived. */
  noteEvent(kind: string, nowMs: number): void {
    if (WORK.has(kind)) this.workedMs = nowMs;
  }

  noteWritten(lastWrite: { readonly endMs: number; readonly tookMs: number }): void {
    this.lastWrite = lastWrite;
  }

  /** Takes out containers whose record is right by now. */
  refresh(containers: ReadonlyMap<string, Container>, nowMs: number): void {
    for (const id of this.behind) if (!needsRecord(containers.get(id))) this.behind.delete(id);
    if (this.behind.size === 0) this.behindSinceMs = nowMs;
    this.wasMaking = false;
    for (const { phase } of containers.values())
      if (phase === 'creating' || phase === 'starting') this.wasMaking = true;
  }

  add(container: Container): void {
    (isInKernel(container) ? this.behind : this.urgent).add(container.id);
  }

  /**
   * Takes out the record to write next. Undefined when there is none, or when the end of an update in flight has to
   * come first.
   */
  takeNext(state: ScheduleState): NextRecord | undefined {
    const [urgent] = this.urgent;
    if (urgent !== undefined) {
      if (state.inFlight >= URGENT_AT_ONCE) return undefined;
      this.urgent.delete(urgent);
      return { containerId: urgent };
    }
    const [containerId] = this.behind;
    if (containerId === undefined || state.inFlight > 0) return undefined;
    const delayMs = this.delayOf(state);
    if (delayMs > 0) return { delayMs };
    this.behind.delete(containerId);
    return { containerId };
  }

  /** Time that records which can wait have to wait; at most 0 = none. */
  private delayOf({ nowMs, isMaking }: ScheduleState): number {
    const quietMs = nowMs - this.workedMs;
    const isAtWork = quietMs < QUIET_MS || this.wasMaking || isMaking();
    if (isAtWork && nowMs - this.behindSinceMs < PATIENCE_MS) return Math.max(QUIET_MS - quietMs, COLLECT_MS);
    const { endMs, tookMs } = this.lastWrite;
    const pauseMs = isAtWork ? LONGEST_PAUSE_MS : Math.min(tookMs, SPREAD_MS / this.behind.size, LONGEST_PAUSE_MS);
    return endMs + pauseMs - nowMs;
  }
}
