/** Counts the bytes that all connections together hold, and limits them. */
export class MemoryBudget {
  private usedBytes = 0;

  constructor(readonly max: number) {}

  get used(): number {
    return this.usedBytes;
  }

  /** Reserves `bytes`; false when that would exceed the limit. */
  tryReserve(bytes: number): boolean {
    if (this.usedBytes + bytes > this.max) return false;
    this.usedBytes += bytes;
    return true;
  }

  release(bytes: number): void {
    this.usedBytes -= bytes;
  }
}
