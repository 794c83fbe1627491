import type { Logger } from 'pino';
import { asObject, asString, BOUND_PODS, CollectionReader, type KubeClient } from '../../kube';
import type { Binding, Bindings } from '../load/bindings';
import type { BindingSource } from './binding-source';
import { BINDING_EVENTS, bindingOfEvent } from './event-binding';
import { bindingOfPod } from './pod-binding';

export interface BindingFollowerParts {
  readonly source: BindingSource;
  readonly client: Pick<KubeClient, 'send' | 'watch'>;
  readonly bindings: Bindings;
  /** Bindings that are older count for nothing. */
  readonly longestRangeMs: number;
  /** The bindings of the node are others now. */
  readonly onChange: (node: string) => void;
  /** Wall clock. */
  readonly nowMs: () => number;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

const CLEAN_MS = 60_000;

interface Reading {
  readonly path: string;
  readonly fieldSelector: string;
  readonly read: (object: unknown) => Binding | undefined;
  /** A binding counts no longer than its object exists. */
  readonly endsWithObject: boolean;
}

const READINGS: Readonly<Record<BindingSource, Reading>> = {
  // A pod that is gone makes no load. So nobody can heat a node by more pods than his quota lets him have at once.
  pods: { path: '/api/v1/pods', fieldSelector: BOUND_PODS, read: bindingOfPod, endsWithObject: true },
  // An Event expires; the pod is there all the same.
  events: { path: '/api/v1/events', fieldSelector: BINDING_EVENTS, read: bindingOfEvent, endsWithObject: false },
};

/** Records the bindings of all pods, also those of before the start. No object is kept. */
export class BindingFollower {
  private readonly reader: CollectionReader;
  private readonly reading: Reading;
  /** The young bindings of a list while it is read. */
  private listed: Set<string> | undefined;

  constructor(private readonly parts: BindingFollowerParts) {
    const { source, client, bindings, log, signal } = parts;
    this.reading = READINGS[source];
    const { path, fieldSelector, endsWithObject } = this.reading;
    this.reader = new CollectionReader({
      client,
      path,
      fieldSelector,
      sink: {
        onListBegin: () => (this.listed = new Set()),
        onItem: (object) => this.take(object),
        onListEnd: () => {
          if (endsWithObject && this.listed) bindings.keepOnly(this.listed);
          this.listed = undefined;
        },
        onEvent: (type, object) => {
          if (type !== 'DELETED') this.take(object);
          else if (endsWithObject) this.forget(asString(asObject(asObject(object)['metadata'])['uid']));
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
    const { bindings, longestRangeMs, onChange, nowMs } = this.parts;
    const binding = this.reading.read(object);
    const now = nowMs();
    if (!binding || binding.timestampMs <= now - longestRangeMs) return;
    this.listed?.add(binding.uid);
    // The other clock may be ahead of ours: a binding is never of the future.
    bindings.add({ ...binding, timestampMs: Math.min(binding.timestampMs, now) });
    onChange(binding.node);
  }

  private forget(uid: string): void {
    const node = this.parts.bindings.remove(uid);
    if (node !== undefined) this.parts.onChange(node);
  }

  private clean(): void {
    const { bindings, longestRangeMs, nowMs } = this.parts;
    bindings.dropUntil(nowMs() - longestRangeMs);
  }
}
