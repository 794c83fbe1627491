/**
 * Events whose records a namespace may write at once, and the time after which it may write those of one more, in ms.
 */
const BURST = 2_000;
const REFILL_MS = 5_000;
/** Most namespaces that are counted one by one; further ones share a budget. */
const MAX_NAMESPACES = 1_024;
const OTHERS = '';

interface Bucket {
  tokens: number;
  atMs: number;
  /** Events that were left out since one was taken. */
  missed: number;
}

export type Taken =
  /** `isFirst`: the one before was taken. */
  | { readonly ok: false; readonly isFirst: boolean }
  /** `missed`: events that were left out before this one. */
  | { readonly ok: true; readonly missed: number };

/**
 * Bounds the events of each namespace that are written, so that no tenant pushes the records of others out of the
 * journal by making and ending pods. Facts of the node are not bounded.
 */
export class NamespaceBudget {
  private readonly buckets = new Map<string, Bucket>();

  constructor(private readonly limits = { burst: BURST, refillMs: REFILL_MS, namespaces: MAX_NAMESPACES }) {}

  /** Takes the place of one event. @param nowMs a monotonic clock, in ms */
  take(namespace: string, nowMs: number): Taken {
    const bucket = this.bucketOf(namespace, nowMs);
    if (bucket.tokens < 1) {
      bucket.missed += 1;
      return { ok: false, isFirst: bucket.missed === 1 };
    }
    bucket.tokens -= 1;
    const { missed } = bucket;
    bucket.missed = 0;
    return { ok: true, missed };
  }

  /** The event that was taken last has no records. */
  giveBack(namespace: string): void {
    const bucket = this.buckets.get(namespace) ?? this.buckets.get(OTHERS);
    if (bucket) bucket.tokens = Math.min(this.limits.burst, bucket.tokens + 1);
  }

  private bucketOf(namespace: string, nowMs: number): Bucket {
    const { burst, namespaces } = this.limits;
    let name = namespace;
    if (!this.buckets.has(name) && this.buckets.size >= namespaces) {
      this.forgetIdle(nowMs);
      if (this.buckets.size >= namespaces) name = OTHERS;
    }
    const bucket = this.buckets.get(name) ?? { tokens: burst, atMs: nowMs, missed: 0 };
    this.buckets.set(name, bucket);
    this.refill(bucket, nowMs);
    return bucket;
  }

  private refill(bucket: Bucket, nowMs: number): void {
    const { burst, refillMs } = this.limits;
    bucket.tokens = Math.min(burst, bucket.tokens + (nowMs - bucket.atMs) / refillMs);
    bucket.atMs = nowMs;
  }

  private forgetIdle(nowMs: number): void {
    for (const [name, bucket] of this.buckets) {
      this.refill(bucket, nowMs);
      if (bucket.tokens >= this.limits.burst && bucket.missed === 0) this.buckets.delete(name);
    }
  }
}
