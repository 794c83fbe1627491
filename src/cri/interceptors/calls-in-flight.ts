import { samePromise, type CpuPromise } from '../../core/model/container';
import type { NodeView } from '../../core/model/node-view';

interface CallInFlight {
  readonly containerId: string;
  /** The promise that the runtime will write; undefined when it is not known. */
  readonly carries: CpuPromise | undefined;
  readonly ended: Promise<void>;
}

/**
 * The calls in flight after which the runtime writes a container's cpuset: starts and updates. A promise that was made
 * after such a call was forwarded must be written again when the call has ended.
 */
export class CallsInFlight {
  private readonly calls = new Set<CallInFlight>();

  constructor(private readonly node: NodeView) {}

  /** The returned function ends it; calling it twice is harmless. */
  begin(containerId: string, carries: CpuPromise | undefined): () => void {
    let end: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => (end = resolve));
    const call = { containerId, carries, ended };
    this.calls.add(call);
    return () => {
      this.calls.delete(call);
      end();
    };
  }

  has(containerId: string): boolean {
    for (const call of this.calls) if (call.containerId === containerId) return true;
    return false;
  }

  /** Waits for the calls about one container. False when the signal aborted first, or the time is over. */
  async endOf(containerId: string, limits: Limits): Promise<boolean> {
    return waitForAll(
      [...this.calls].filter((call) => call.containerId === containerId),
      limits,
    );
  }

  /** Waits for the calls about other containers that carry an outdated promise. */
  async endOfOutdated(exceptId: string, limits: Limits): Promise<boolean> {
    return waitForAll(
      [...this.calls].filter((call) => call.containerId !== exceptId && this.isOutdated(call)),
      limits,
    );
  }

  private isOutdated({ containerId, carries }: CallInFlight): boolean {
    const promise = this.node.containers.get(containerId)?.promise;
    return promise !== undefined && !samePromise(promise, carries);
  }
}

export interface Limits {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

async function waitForAll(calls: readonly CallInFlight[], { signal, timeoutMs }: Limits): Promise<boolean> {
  if (calls.length === 0) return true;
  let giveUp: () => void = () => undefined;
  const givenUp = new Promise<boolean>((resolve) => (giveUp = () => resolve(false)));
  const timer = setTimeout(giveUp, timeoutMs);
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    return await Promise.race([Promise.all(calls.map(({ ended }) => ended)).then(() => true), givenUp]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', giveUp);
  }
}
