import type { Logger } from 'pino';
import { CollectionReader, type KubeClient } from '../../kube';
import type { Bindings } from '../load/bindings';
import { BINDING_EVENTS, toBinding } from './to-binding';

export interface BindingFollowerParts {
  readonly client: Pick<KubeClient, 'send' | 'watch'>;
  readonly bindings: Bindings;
  /** Bindings that are older count for nothing. */
  readonly longestRangeMs: number;
  /** A pod was bound to the node, and counts from now on. */
  readonly onBinding: (node: string) => void;
  /** Wall clock. */
  readonly nowMs: () => number;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

const CLEAN_MS = 60_000;

/**
 * Records the bindings of all pods from the schedulers' Events. After a start these are the Events that the API server still has, of an
 * hour by default. No Event is kept.
 */
export class BindingFollower {
  private readonly reader: CollectionReader;

  constructor(private readonly parts: BindingFollowerParts) {
    const { client, log, signal } = parts;
    const take = (object: unknown): void => this.take(object);
    this.reader = new CollectionReader({
      client,
      path: '/api/v1/events',
      fieldSelector: BINDING_EVENTS,
      sink: {
        onListBegin: () => undefined,
        onItem: take,
        onListEnd: () => undefined,
        onEvent: (type, object) => {
          if (type !== 'DELETED') take(object); // an Event expires; the pod is there all the same
        },
      },
      log,
      signal,
    });
  }

  /** Runs until the signal aborts; never rejects. */
  async run(): Promise<void> {
    const timer = setInterval(() => this.clean(), CLEAN_MS).unref();
    await this.reader.run();
    clearInterval(timer);
  }

  /** True after the first complete list. */
  get isSynced(): boolean {
    return this.reader.isSynced;
  }

  private take(object: unknown): void {
    const { bindings, longestRangeMs, onBinding, nowMs } = this.parts;
    const binding = toBinding(object);
    const now = nowMs();
    if (!binding || binding.timestampMs <= now - longestRangeMs) return;
    // The scheduler's clock may be ahead of ours: a binding is never of the future.
    bindings.add({ ...binding, timestampMs: Math.min(binding.timestampMs, now) });
    onBinding(binding.node);
  }

  private clean(): void {
    const { bindings, longestRangeMs, nowMs } = this.parts;
    bindings.dropUntil(nowMs() - longestRangeMs);
  }
}
