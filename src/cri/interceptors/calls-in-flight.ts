import { samePromise, type CpuPromise } from '../../core/model/container';
import type { NodeView } from '../../core/model/node-view';

interface CallInFlight {
  readonly containerId: string;
  /** The promise that the runtime will write, as far as known. */
  readonly carries: CpuPromise | undefined;
  readonly ended: Promise<void>;
}

/**
 * Calls that the runtime is working on and that end with its writing a container's cpuset: starts and updates. What was
 * promised after they were forwarded is in the kernel only when they have ended and were followed up.
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

  /** Waits for the calls about other containers that carry what is no longer promised. */
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
