/** How long to wait before the next try: doubled each time, with a quarter of chance so that nodes do not ask in step. */
export class BackOff {
  private tries = 0;

  constructor(private readonly limits: { readonly leastMs: number; readonly mostMs: number }) {}

  /** Milliseconds to wait now, counted as one more failure; at least `atLeastMs`, which a server may have asked for. */
  next(atLeastMs = 0): number {
    const { leastMs, mostMs } = this.limits;
    const plain = Math.min(mostMs, leastMs * 2 ** this.tries);
    this.tries = Math.min(this.tries + 1, 30);
    return Math.max(atLeastMs, Math.round(plain * (0.75 + Math.random() / 2)));
  }

  reset(): void {
    this.tries = 0;
  }
}
