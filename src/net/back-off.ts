export interface BackOffLimits {
  /** Delay after the first failure. */
  readonly leastMs: number;
  /** Longest delay, before jitter. */
  readonly mostMs: number;
  /** Each delay is this many times the one before it; 2 by default. */
  readonly factor?: number;
  /**
   * Largest random change of a delay, as a fraction of it; 0.25 by default, so that the nodes of a cluster do not retry
   * in step.
   */
  readonly jitter?: number;
}

/** Milliseconds to wait after the failure with this number; the first has number 0. */
export function backOffMs(failure: number, { leastMs, mostMs, factor = 2, jitter = 0.25 }: BackOffLimits): number {
  const plainMs = Math.min(mostMs, leastMs * factor ** Math.min(failure, 100));
  return Math.round(plainMs * (1 + jitter * (2 * Math.random() - 1)));
}

/** Exponential delays between attempts, for one caller that counts its own failures. */
export class BackOff {
  private failures = 0;

  constructor(private readonly limits: BackOffLimits) {}

  /** Milliseconds to wait now, counted as one more failure; at least `atLeastMs`, which a server may have asked for. */
  next(atLeastMs = 0): number {
    return Math.max(atLeastMs, backOffMs(this.failures++, this.limits));
  }

  reset(): void {
    this.failures = 0;
  }
}
