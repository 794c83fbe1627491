import type { Logger } from 'pino';
import { samePromise, type Container, type CpuPromise } from '../../core/model/container';
import { namesIn } from '../../core/model/names-of';
import type { NodeView } from '../../core/model/node-view';
import { beginOwnUpdate, endOwnUpdate } from '../../core/transition';
import { logFault } from '../alarms/faults';
import type { Transactor } from '../transaction/transactor';
import { isApplied } from './record-state';

export interface RecordWriterParts {
  readonly model: NodeView;
  readonly transactor: Pick<Transactor, 'record'>;
  /**
   * Writes a container's cpuset into the runtime's record (CRI UpdateContainerResources). Rejects when it could not.
   */
  readonly update: (containerId: string, promise: CpuPromise, signal: AbortSignal) => Promise<void>;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** The runtime did not take an update; it is tried again. */
  readonly onFailure?: (containerId: string) => void;
}

interface Write {
  readonly promise: CpuPromise;
  /** Resolves with why it failed, or undefined. */
  readonly done: Promise<unknown>;
}

/** Maximum number of concurrent updates for a caller that waits. */
const FLUSHED_AT_ONCE = 8;
const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 30_000;

/** Has the runtime write promises into its records, at most one update of a container at a time. */
export class RecordWriter {
  private readonly inFlight = new Map<string, Write>();
  private readonly failures = new Map<string, { readonly count: number; readonly notBeforeMs: number }>();

  /** `onEnd` is called after each update, and must not throw. */
  constructor(
    private readonly parts: RecordWriterParts,
    private readonly onEnd: (containerId: string, write: { readonly endMs: number; readonly tookMs: number }) => void,
  ) {}

  get inFlightCount(): number {
    return this.inFlight.size;
  }

  isWriting(containerId: string): boolean {
    return this.inFlight.has(containerId);
  }

  /** Earliest time of the next try after a failure; 0 = at once. */
  notBeforeMs(containerId: string): number {
    return this.failures.get(containerId)?.notBeforeMs ?? 0;
  }

  /** Forgets failures of containers that are gone. */
  keepOnly(containers: ReadonlyMap<string, Container>): void {
    for (const id of this.failures.keys()) if (!containers.has(id)) this.failures.delete(id);
  }

  /** Resolves with why it failed, or undefined. */
  async write(container: Container): Promise<unknown> {
    const { id, promise } = container;
    if (!promise) return undefined;
    this.parts.transactor.record((draft) => beginOwnUpdate(draft, id, promise));
    const done = this.run(container, promise);
    this.inFlight.set(id, { promise, done });
    return done;
  }

  /** See `RecordSync.flush`. */
  async flush(containerIds: readonly string[]): Promise<unknown> {
    const outdated = [...this.inFlight].flatMap(([id, { promise }]) =>
      samePromise(this.parts.model.containers.get(id)?.promise, promise) ? [] : [id],
    );
    const asked = new Set(containerIds);
    const pending = new Set([...asked, ...outdated]).values();
    let failure: unknown;
    const work = async (): Promise<void> => {
      for (const id of pending) {
        const problem = await this.flushOne(id);
        if (asked.has(id)) failure ??= problem;
      }
    };
    await Promise.all(Array.from({ length: FLUSHED_AT_ONCE }, work));
    return failure;
  }

  private async flushOne(id: string): Promise<unknown> {
    for (;;) {
      const container = this.parts.model.containers.get(id);
      const inFlight = this.inFlight.get(id);
      if (!container?.promise || (isApplied(container) && !inFlight)) return undefined;
      const failure = inFlight ? await inFlight.done : await this.write(container);
      if (failure === undefined || inFlight) continue;
      return isGone(failure) ? undefined : failure;
    }
  }

  private async run(container: Container, promise: CpuPromise): Promise<unknown> {
    const { model, transactor, update, signal } = this.parts;
    const { id, runtimeRecord: before } = container;
    const startMs = performance.now();
    let failure: unknown;
    try {
      await update(id, promise, signal);
      this.failures.delete(id);
      transactor.record((draft) => endOwnUpdate(draft, id, { promise, before }));
    } catch (error) {
      failure = error;
      if (signal.aborted || !model.containers.has(id)) this.failures.delete(id);
      else this.noteFailure(container, promise, error);
    } finally {
      this.inFlight.delete(id);
    }
    const endMs = performance.now();
    this.onEnd(id, { endMs, tookMs: endMs - startMs });
    return failure;
  }

  private noteFailure(container: Container, { cpus }: CpuPromise, error: unknown): void {
    const { id: containerId } = container;
    const count = (this.failures.get(containerId)?.count ?? 0) + 1;
    const delayMs = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(count - 1, 10));
    this.failures.set(containerId, { count, notBeforeMs: performance.now() + delayMs });
    const level = count === 1 && !isGone(error) ? 'warn' : 'debug';
    this.parts.log[level](
      { ...namesIn(this.parts.model, container), cpus: cpus.toString(), failures: count, err: error },
      'runtime record not updated',
    );
    try {
      this.parts.onFailure?.(containerId);
    } catch (fault) {
      logFault(this.parts.log, 'a record that was not updated could not be reported', fault);
    }
  }
}

function isGone(error: unknown): boolean {
  return (error as { readonly code?: unknown }).code === 'NOT_FOUND';
}
