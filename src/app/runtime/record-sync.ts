import type { Logger } from 'pino';
import { type Container, type CpuPromise, hasCgroup, samePromise } from '../../core/model/container';
import type { RuntimeEvent } from '../../core/model/events';
import { namesIn } from '../../core/model/names-of';
import type { NodeView } from '../../core/model/node-view';
import { beginOwnUpdate, endOwnUpdate } from '../../core/transition';
import { EarliestTimer } from '../../net/earliest-timer';
import { logFault } from '../alarms/faults';
import type { Transactor } from '../transaction/transactor';

export interface RecordSyncParts {
  readonly model: NodeView;
  readonly transactor: Pick<Transactor, 'record'>;
  /** Writes a container's cpuset into the runtime's record (CRI UpdateContainerResources). Rejects when it could not. */
  readonly update: (containerId: string, promise: CpuPromise, signal: AbortSignal) => Promise<void>;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** The runtime did not take an update; it is tried again. */
  readonly onFailure?: (containerId: string) => void;
  /** True while a call about the container is under way in which an update would be lost. The update is sent afterwards. */
  readonly isBusy?: (containerId: string) => boolean;
  /** The runtime is making a sandbox or a container that the model does not show yet. */
  readonly isMaking?: () => boolean;
}

interface Write {
  readonly promise: CpuPromise;
  /** Resolves with why it failed, or undefined. */
  readonly done: Promise<unknown>;
}

/** Maximum number of concurrent updates for a caller that waits. */
const SETTLED_AT_ONCE = 8;
/** Maximum number of concurrent updates without a waiting caller, where only the runtime can move the container. */
const URGENT_AT_ONCE = 2;

/** Changes within this time are written as one. */
const SETTLE_MS = 200;
/** Records without a waiting caller are written when the runtime has made and ended nothing for this time. */
const QUIET_MS = 3_000;
/** Records that have waited this long are also written while the runtime is at work, one at a time with long pauses. */
const PATIENCE_MS = 60_000;
const LONGEST_PAUSE_MS = 100;
/** Total time of the pauses between many records: with the quiet before them, calm need last no 30 s. */
const SPREAD_MS = 10_000;

const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 30_000;

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

/**
 * Lets the runtime's own record follow the promises, in the background: so that the next update that passes through
 * the runtime, and systemd, find the same cpuset that the kernel has.
 *
 * Always writes the latest promise. Where the kernel has it already, the record gives way to whatever the runtime makes: each
 * update takes the runtime some 10 ms. Waited for only where the runtime is the one way to move a container (`settle`).
 */
export class RecordSync {
  private readonly underWay = new Map<string, Write>();
  private readonly failures = new Map<string, { readonly count: number; readonly notBeforeMs: number }>();
  private readonly look: EarliestTimer;
  private readonly next: EarliestTimer;
  /** Containers that only the runtime can move, and those whose record alone is behind: the longest behind is first. */
  private readonly urgent = new Set<string>();
  private readonly behind = new Set<string>();
  /** Since when some have been behind without a break. */
  private behindSinceMs = 0;
  /** A container was being made when the model was last looked through. */
  private wasMaking = false;
  private workedMs = -Infinity;
  private lastWrite = { endMs: -Infinity, tookMs: 0 };

  constructor(private readonly parts: RecordSyncParts) {
    const { signal } = parts;
    this.look = new EarliestTimer(() => this.contain(() => this.findBehind()), signal);
    this.next = new EarliestTimer(() => this.contain(() => this.startDue()), signal);
  }

  /** Containers whose record does not say what was promised. */
  get pending(): number {
    let count = 0;
    for (const container of this.parts.model.containers.values()) if (needsRecord(container)) count++;
    return count;
  }

  /** True when an update of this container that passes through the runtime now is our own. */
  isUpdating(containerId: string): boolean {
    return this.underWay.has(containerId);
  }

  /**
   * Has the runtime write what these containers are promised, and waits for that; also where something older is being
   * written. Resolves with a failure about one of these, or undefined; a container that is gone is none.
   */
  async settle(containerIds: readonly string[]): Promise<unknown> {
    const outdated = [...this.underWay].flatMap(([id, { promise }]) =>
      samePromise(this.parts.model.containers.get(id)?.promise, promise) ? [] : [id],
    );
    const asked = new Set(containerIds);
    const pending = new Set([...asked, ...outdated]).values();
    let failure: unknown;
    const work = async (): Promise<void> => {
      for (const id of pending) {
        const problem = await this.settleOne(id);
        if (asked.has(id)) failure ??= problem;
      }
    };
    await Promise.all(Array.from({ length: SETTLED_AT_ONCE }, work));
    return failure;
  }

  private async settleOne(id: string): Promise<unknown> {
    for (;;) {
      const container = this.parts.model.containers.get(id);
      if (!container?.promise || (isKept(container) && !this.underWay.has(id))) return undefined;
      const write = this.underWay.get(id);
      const failure = write ? await write.done : await this.record(container);
      if (failure === undefined || write) continue;
      return isGone(failure) ? undefined : failure;
    }
  }

  /** Something has changed: records that are behind are looked for soon. Cheap; call it after every change. */
  wake(): void {
    this.look.startIn(SETTLE_MS);
  }

  /** An event of the runtime arrived; its work comes before ours. */
  noteEvent(kind: string): void {
    if (WORK.has(kind)) this.workedMs = performance.now();
  }

  /** Never throws: a fault keeps this look from being made, and the next change makes another. */
  private contain(act: () => void): void {
    try {
      if (!this.parts.signal.aborted) act();
    } catch (error) {
      logFault(this.parts.log, 'runtime records were not looked at', error);
    }
  }

  /** Looks through all containers: once for the changes of `SETTLE_MS`, however many they were. */
  private findBehind(): void {
    const { containers } = this.parts.model;
    for (const id of this.failures.keys()) if (!containers.has(id)) this.failures.delete(id);
    for (const id of this.behind) if (!needsRecord(containers.get(id))) this.behind.delete(id);
    if (this.behind.size === 0) this.behindSinceMs = performance.now();
    this.wasMaking = false;
    for (const container of containers.values()) {
      if (container.phase === 'creating' || container.phase === 'starting') this.wasMaking = true;
      this.lineUp(container);
    }
    this.startDue();
  }

  private lineUp(container: Container): void {
    const { id } = container;
    if (!needsRecord(container) || this.underWay.has(id)) return;
    const waitMs = (this.failures.get(id)?.notBeforeMs ?? 0) - performance.now();
    if (waitMs > 0) this.look.startIn(waitMs);
    else (isInKernel(container) ? this.behind : this.urgent).add(id);
  }

  private startDue(): void {
    for (const id of this.urgent) {
      if (this.underWay.size >= URGENT_AT_ONCE) return;
      this.urgent.delete(id);
      this.startOne(id);
    }
    for (const id of this.behind) {
      if (this.underWay.size > 0) return;
      const delayMs = this.untilNext();
      if (delayMs > 0) {
        this.next.startIn(delayMs);
        return;
      }
      this.behind.delete(id);
      this.startOne(id);
    }
  }

  /** Time that the next of those that can wait has to wait; at most 0 = none. */
  private untilNext(): number {
    const now = performance.now();
    const quietMs = now - this.workedMs;
    const isAtWork = quietMs < QUIET_MS || this.wasMaking || this.parts.isMaking?.() === true;
    if (isAtWork && now - this.behindSinceMs < PATIENCE_MS) return Math.max(QUIET_MS - quietMs, SETTLE_MS);
    const { endMs, tookMs } = this.lastWrite;
    const pauseMs = isAtWork ? LONGEST_PAUSE_MS : Math.min(tookMs, SPREAD_MS / this.behind.size, LONGEST_PAUSE_MS);
    return endMs + pauseMs - now;
  }

  private startOne(id: string): void {
    const { model, isBusy, log } = this.parts;
    const container = model.containers.get(id);
    if (!container || !needsRecord(container) || this.underWay.has(id)) return;
    if (isBusy?.(id) === true) this.look.startIn(SETTLE_MS);
    else this.record(container).catch((error: unknown) => logFault(log, 'a runtime record was left', error));
  }

  private record(container: Container): Promise<unknown> {
    if (!container.promise) return Promise.resolve();
    const done = this.write(container, container.promise);
    this.underWay.set(container.id, { promise: container.promise, done });
    return done;
  }

  private async write(container: Container, promise: CpuPromise): Promise<unknown> {
    const { model, transactor, update, signal } = this.parts;
    const { id, runtimeRecord: before } = container;
    const startMs = performance.now();
    let failure: unknown;
    transactor.record((draft) => beginOwnUpdate(draft, id, promise));
    try {
      await update(id, promise, signal);
      this.failures.delete(id);
      transactor.record((draft) => endOwnUpdate(draft, id, { promise, before }));
    } catch (error) {
      failure = error;
      if (signal.aborted || !model.containers.has(id)) this.failures.delete(id);
      else this.noteFailure(container, promise, error);
    } finally {
      this.underWay.delete(id);
      const endMs = performance.now();
      this.lastWrite = { endMs, tookMs: endMs - startMs };
    }
    this.contain(() => {
      const now = model.containers.get(id);
      if (now) this.lineUp(now);
      this.startDue();
    });
    return failure;
  }

  private noteFailure(container: Container, { cpus }: CpuPromise, error: unknown): void {
    const { id: containerId } = container;
    const count = (this.failures.get(containerId)?.count ?? 0) + 1;
    const delayMs = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(count - 1, 10));
    this.failures.set(containerId, { count, notBeforeMs: performance.now() + delayMs });
    const level = count === 1 ? 'warn' : 'debug';
    this.parts.log[level](
      { ...namesIn(this.parts.model, container), cpus: cpus.toString(), failures: count, err: error },
      'runtime record not updated',
    );
    try {
      this.parts.onFailure?.(containerId);
    } catch (fault) {
      logFault(this.parts.log, 'a record that was not updated could not be told of', fault);
    }
  }
}

/** Kernel and record have what was promised; without a cgroup only the record counts. */
function isKept(container: Container): boolean {
  const { promise, applied, runtimeRecord } = container;
  return samePromise(promise, runtimeRecord) && (!hasCgroup(container) || samePromise(promise, applied));
}

/** Only the record is behind: the container is on its CPUs. */
function isInKernel(container: Container): boolean {
  return hasCgroup(container) && samePromise(container.promise, container.applied);
}

function isGone(error: unknown): boolean {
  return (error as { readonly code?: unknown }).code === 'NOT_FOUND';
}

/** A container that is being started is left alone: an update that lands then is lost. It is looked at when it runs. */
function needsRecord(container: Container | undefined): boolean {
  if (!container?.promise) return false;
  const { phase, promise, runtimeRecord } = container;
  return (phase === 'running' || phase === 'created') && !samePromise(runtimeRecord, promise);
}
