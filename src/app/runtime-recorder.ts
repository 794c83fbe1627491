import type { Logger } from 'pino';
import { samePromise, type Container, type CpuPromise } from '../core/model/container';
import type { NodeModel } from '../core/model/node-model';
import { hasCgroup } from '../core/plan/plan-moves';
import { logFault } from './faults';

export interface RecorderParts {
  readonly model: NodeModel;
  /** Writes a container's cpuset into the runtime's record (CRI UpdateContainerResources). Rejects when it could not. */
  readonly update: (containerId: string, promise: CpuPromise, signal: AbortSignal) => Promise<void>;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** Updates under way at a time; each takes about 9 ms of the runtime. */
  readonly concurrency?: number;
  /** The runtime did not take an update; it is tried again. */
  readonly onFailure?: (containerId: string) => void;
  /** Whether a call about the container is under way in which an update would be lost: it has its turn afterwards. */
  readonly isBusy?: (containerId: string) => boolean;
}

interface Write {
  readonly promise: CpuPromise;
  /** Resolves with why it failed, or undefined. */
  readonly done: Promise<unknown>;
}

/** So many are written at once where somebody waits for them. */
const SETTLED_AT_ONCE = 8;

/** Updates would compete with the creation that they follow; and of changes that come together only the last is written. */
const SETTLE_MS = 200;
const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 30_000;

/**
 * Lets the runtime's own record follow the promises, in the background: so that the next update that passes through
 * the runtime, and systemd, find the same cpuset that the kernel has.
 *
 * Always writes the latest promise, at most a few at a time; waited for only where the runtime is the one way to move a
 * container (`settle`).
 */
export class RuntimeRecorder {
  private readonly underWay = new Map<string, Write>();
  private readonly failures = new Map<string, { readonly count: number; readonly notBeforeMs: number }>();
  private timer: { readonly dueMs: number; readonly handle: NodeJS.Timeout } | undefined;

  constructor(private readonly parts: RecorderParts) {
    parts.signal.addEventListener('abort', () => clearTimeout(this.timer?.handle), { once: true });
  }

  /** Containers whose record does not say what was promised. */
  get pending(): number {
    let count = 0;
    for (const container of this.parts.model.containers.values()) if (needsRecord(container)) count++;
    return count;
  }

  /** Whether an update of this container that passes through the runtime now is our own. */
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
    this.startIn(SETTLE_MS);
  }

  /** Never throws: a fault keeps this look from being made, and the next change makes another. */
  private start(): void {
    try {
      this.startDue();
    } catch (error) {
      logFault(this.parts.log, 'runtime records were not looked at', error);
    }
  }

  private startDue(): void {
    const { model, log, signal, concurrency = 2, isBusy } = this.parts;
    if (signal.aborted) return;
    const now = performance.now();
    for (const id of this.failures.keys()) if (!model.containers.has(id)) this.failures.delete(id);
    for (const container of model.containers.values()) {
      if (this.underWay.size >= concurrency) return;
      if (!needsRecord(container) || this.underWay.has(container.id) || isBusy?.(container.id) === true) continue;
      const notBeforeMs = this.failures.get(container.id)?.notBeforeMs ?? 0;
      if (notBeforeMs > now) this.startIn(notBeforeMs - now);
      else this.record(container).catch((error: unknown) => logFault(log, 'a runtime record was left', error));
    }
  }

  private record(container: Container): Promise<unknown> {
    if (!container.promise) return Promise.resolve();
    const done = this.write(container, container.promise);
    this.underWay.set(container.id, { promise: container.promise, done });
    return done;
  }

  private async write(container: Container, promise: CpuPromise): Promise<unknown> {
    const { model, update, signal } = this.parts;
    const { id, promise: _promise, told, ...rest } = container;
    let failure: unknown;
    // The runtime writes the cgroup too. Until it has answered nobody knows which cpuset is there: any move has to be made.
    if (!samePromise(told, promise)) model.apply({ kind: 'put-container', container: { id, promise, ...rest } });
    try {
      await update(id, promise, signal);
      this.failures.delete(id);
      const now = model.containers.get(id);
      if (now) {
        // What was promised meanwhile was carried out by other means, or will be.
        const arrived = samePromise(now.promise, promise) && { told: promise };
        model.apply({ kind: 'put-container', container: { ...now, recorded: promise, ...arrived } });
      }
    } catch (error) {
      failure = error;
      if (signal.aborted || !model.containers.has(id)) this.failures.delete(id);
      else this.noteFailure(id, promise, error);
    } finally {
      this.underWay.delete(id);
    }
    this.start();
    return failure;
  }

  private noteFailure(containerId: string, { cpus }: CpuPromise, error: unknown): void {
    const count = (this.failures.get(containerId)?.count ?? 0) + 1;
    const delayMs = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(count - 1, 10));
    this.failures.set(containerId, { count, notBeforeMs: performance.now() + delayMs });
    const level = count === 1 ? 'warn' : 'debug';
    this.parts.log[level](
      { containerId, cpus: cpus.toString(), failures: count, err: error },
      'runtime record not updated',
    );
    try {
      this.parts.onFailure?.(containerId);
    } catch (fault) {
      logFault(this.parts.log, 'a record that was not updated could not be told of', fault);
    }
  }

  /** At the earliest of the times that were asked for. */
  private startIn(delayMs: number): void {
    const dueMs = performance.now() + delayMs;
    if (this.parts.signal.aborted || (this.timer && this.timer.dueMs <= dueMs)) return;
    clearTimeout(this.timer?.handle);
    const fire = (): void => {
      this.timer = undefined;
      this.start();
    };
    this.timer = { dueMs, handle: setTimeout(fire, delayMs + 1).unref() };
  }
}

/** Kernel and record have what was promised; without a cgroup only the record counts. */
function isKept(container: Container): boolean {
  const { promise, told, recorded } = container;
  return samePromise(promise, recorded) && (!hasCgroup(container) || samePromise(promise, told));
}

function isGone(error: unknown): boolean {
  return (error as { readonly code?: unknown }).code === 'NOT_FOUND';
}

/** A container that is being started is left alone: an update that lands then is lost. It is looked at when it runs. */
function needsRecord({ phase, promise, recorded }: Container): boolean {
  return promise !== undefined && (phase === 'running' || phase === 'created') && !samePromise(recorded, promise);
}
