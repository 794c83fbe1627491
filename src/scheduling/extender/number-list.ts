type Numbers = Uint16Array | Uint32Array | Float32Array;

/**
 * A list of numbers that keeps its memory when it is cleared. Each pod needs several lists of thousands of numbers;
 * made anew they would be collected in pauses that a scheduler waits for.
 */
export class NumberList {
  private count = 0;
  private numbers: Numbers;

  constructor(private readonly kind: new (length: number) => Numbers) {
    this.numbers = new kind(0);
  }

  get length(): number {
    return this.count;
  }

  /** The length that it can have without more memory. */
  get room(): number {
    return this.numbers.length;
  }

  /** 0 beyond the end. */
  at(i: number): number {
    return i < this.count ? this.numbers[i]! : 0;
  }

  push(value: number): void {
    if (this.count === this.numbers.length) this.reserve(Math.max(64, this.count * 2));
    this.numbers[this.count++] = value;
  }

  clear(): void {
    this.count = 0;
  }

  /** Becomes the same as the other list. */
  copy(other: NumberList): void {
    if (this.numbers.length < other.count) this.reserve(other.count);
    this.numbers.set(other.numbers.subarray(0, other.count));
    this.count = other.count;
  }

  private reserve(length: number): void {
    const before = this.numbers;
    this.numbers = new this.kind(length);
    this.numbers.set(before.subarray(0, this.count));
  }
}
