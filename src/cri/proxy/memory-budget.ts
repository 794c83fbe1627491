/** Counts the bytes that all connections together hold, and limits them. */
export class MemoryBudget {
  #used = 0;

  constructor(readonly max: number) {}

  get used(): number {
    return this.#used;
  }

  /** Reserves `bytes`; false when that would exceed the limit. */
  tryReserve(bytes: number): boolean {
    if (this.#used + bytes > this.max) return false;
    this.#used += bytes;
    return true;
  }

  release(bytes: number): void {
    this.#used -= bytes;
  }
}
