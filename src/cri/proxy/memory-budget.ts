/** Counts what all connections together hold, of requests or of calls, so that no number of peers can grow our memory beyond a limit. */
export class MemoryBudget {
  #used = 0;

  constructor(readonly max: number) {}

  get used(): number {
    return this.#used;
  }

  /** Whether `bytes` more may be held; when so they are counted. */
  tryReserve(bytes: number): boolean {
    if (this.#used + bytes > this.max) return false;
    this.#used += bytes;
    return true;
  }

  release(bytes: number): void {
    this.#used -= bytes;
  }
}
