/** Counts the bytes that all connections together hold, so that no number of peers can grow our memory beyond a limit. */
export class MemoryBudget {
  #used = 0;

  constructor(readonly max: number) {}

  get used(): number {
    return this.#used;
  }

  /** Counts `bytes` more, if they may be held; else returns false. */
  tryReserve(bytes: number): boolean {
    if (this.#used + bytes > this.max) return false;
    this.#used += bytes;
    return true;
  }

  release(bytes: number): void {
    this.#used -= bytes;
  }
}
