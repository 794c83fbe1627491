/** The highest CPU id that a set may hold. Linux is built for at most 8,192 CPUs; the rest is room, and a bound. */
export const MAX_CPU_ID = 65_535;

/** Ids from the first to the last, both included. */
export type CpuRange = readonly [first: number, last: number];

/**
 * An immutable set of CPU ids, as a bit set: one bit a CPU, 32 a word, no trailing zero words.
 *
 * Costs of all operations are linear in the highest id divided by 32.
 */
export class CpuSet implements Iterable<number> {
  static readonly empty = new CpuSet(new Uint32Array(0));

  private constructor(private readonly words: Uint32Array) {}

  /** The set of the given ids; duplicates are fine. Throws RangeError for an id below 0 or above MAX_CPU_ID. */
  static of(ids: Iterable<number>): CpuSet {
    const list: ArrayLike<number> & Iterable<number> = isList(ids) ? ids : [...ids];
    if (list.length === 0) return CpuSet.empty;
    let max = 0;
    for (const id of list) {
      if (!Number.isInteger(id) || id < 0 || id > MAX_CPU_ID) throw new RangeError(`not a CPU id: ${id}`);
      if (id > max) max = id;
    }
    const words = new Uint32Array((max >>> 5) + 1);
    for (const id of list) words[id >>> 5]! |= 1 << (id & 31);
    return new CpuSet(words);
  }

  /** The set of all ids from first to last, both included. Throws RangeError as `of` does. */
  static range(first: number, last: number): CpuSet {
    return CpuSet.ofRanges([[first, last]]);
  }

  /** The set of all ids in the ranges, first and last included; overlaps are fine. Throws RangeError as `of` does. */
  static ofRanges(ranges: Iterable<CpuRange>): CpuSet {
    const list = [...ranges].filter(([first, last]) => first <= last);
    if (list.length === 0) return CpuSet.empty;
    let max = 0;
    for (const [first, last] of list) {
      for (const id of [first, last])
        if (!Number.isInteger(id) || id < 0 || id > MAX_CPU_ID) throw new RangeError(`not a CPU id: ${id}`);
      if (last > max) max = last;
    }
    const words = new Uint32Array((max >>> 5) + 1);
    for (const [first, last] of list) fill(words, first, last);
    return new CpuSet(words);
  }

  static unionOf(sets: Iterable<CpuSet>): CpuSet {
    const list = [...sets];
    if (list.length < 2) return list[0] ?? CpuSet.empty;
    const words = new Uint32Array(list.reduce((longest, set) => Math.max(longest, set.words.length), 0));
    for (const set of list) for (let i = 0; i < set.words.length; i++) words[i]! |= set.words[i]!;
    return words.length === 0 ? CpuSet.empty : new CpuSet(words);
  }

  get size(): number {
    let count = 0;
    for (const word of this.words) count += popCount(word);
    return count;
  }

  get isEmpty(): boolean {
    return this.words.length === 0;
  }

  has(id: number): boolean {
    return ((this.words[id >>> 5] ?? 0) & (1 << (id & 31))) !== 0;
  }

  /** The lowest id, or undefined for the empty set. */
  get first(): number | undefined {
    for (const id of this) return id;
    return undefined;
  }

  union(other: CpuSet): CpuSet {
    if (other.isEmpty) return this;
    if (this.isEmpty) return other;
    const [long, short] = this.words.length >= other.words.length ? [this, other] : [other, this];
    const words = long.words.slice();
    for (let i = 0; i < short.words.length; i++) words[i]! |= short.words[i]!;
    return new CpuSet(words);
  }

  intersect(other: CpuSet): CpuSet {
    if (this.isSubsetOf(other)) return this;
    if (other.isSubsetOf(this)) return other;
    const length = Math.min(this.words.length, other.words.length);
    const words = new Uint32Array(length);
    for (let i = 0; i < length; i++) words[i] = this.words[i]! & other.words[i]!;
    return CpuSet.trimmed(words);
  }

  /** The ids of this set that are not in the other. */
  minus(other: CpuSet): CpuSet {
    if (!this.overlaps(other)) return this;
    const words = this.words.slice();
    const length = Math.min(words.length, other.words.length);
    for (let i = 0; i < length; i++) words[i]! &= ~other.words[i]!;
    return CpuSet.trimmed(words);
  }

  overlaps(other: CpuSet): boolean {
    const length = Math.min(this.words.length, other.words.length);
    for (let i = 0; i < length; i++) if ((this.words[i]! & other.words[i]!) !== 0) return true;
    return false;
  }

  /** The number of ids that both sets have in common: the size of the intersection without making it. */
  countIn(other: CpuSet): number {
    const length = Math.min(this.words.length, other.words.length);
    let count = 0;
    for (let i = 0; i < length; i++) count += popCount(this.words[i]! & other.words[i]!);
    return count;
  }

  isSubsetOf(other: CpuSet): boolean {
    for (let i = 0; i < this.words.length; i++) if ((this.words[i]! & ~(other.words[i] ?? 0)) !== 0) return false;
    return true;
  }

  equals(other: CpuSet): boolean {
    if (this === other) return true;
    if (this.words.length !== other.words.length) return false;
    for (let i = 0; i < this.words.length; i++) if (this.words[i] !== other.words[i]) return false;
    return true;
  }

  /** Ids in ascending order. */
  *[Symbol.iterator](): Iterator<number> {
    for (let i = 0; i < this.words.length; i++) {
      let word = this.words[i]!;
      while (word !== 0) {
        const bit = 31 - Math.clz32(word & -word);
        yield i * 32 + bit;
        word &= word - 1;
      }
    }
  }

  /** Calls back for each id, in ascending order. Faster than iterating where that counts. */
  forEach(visit: (id: number) => void): void {
    for (let i = 0; i < this.words.length; i++) {
      for (let word = this.words[i]!; word !== 0; word &= word - 1) visit(i * 32 + 31 - Math.clz32(word & -word));
    }
  }

  /** Ids in ascending order. */
  toArray(): number[] {
    return [...this];
  }

  /** The kernel's list format in canonical form: ascending, ranges joined with `-`; the empty set is `""`. */
  toString(): string {
    let text = '';
    let start = -1;
    let end = -2;
    const close = (): void => {
      if (start < 0) return;
      const run = start === end ? `${start}` : `${start}-${end}`;
      text = text === '' ? run : `${text},${run}`;
    };
    for (let i = 0; i < this.words.length; i++) {
      let word = this.words[i]!;
      if (word === 0xffffffff && end === i * 32 - 1) {
        end += 32;
        continue;
      }
      for (; word !== 0; word &= word - 1) {
        const id = i * 32 + 31 - Math.clz32(word & -word);
        if (id !== end + 1) {
          close();
          start = id;
        }
        end = id;
      }
    }
    close();
    return text;
  }

  /** Sets appear in JSON in the kernel's list format. */
  toJSON(): string {
    return this.toString();
  }

  private static trimmed(words: Uint32Array): CpuSet {
    let length = words.length;
    while (length > 0 && words[length - 1] === 0) length--;
    if (length === 0) return CpuSet.empty;
    return new CpuSet(length === words.length ? words : words.slice(0, length));
  }
}

/** Sets the bits from first to last, a word at a time. */
function fill(words: Uint32Array, first: number, last: number): void {
  const [from, to] = [first >>> 5, last >>> 5];
  const head = -1 << (first & 31);
  const tail = -1 >>> (31 - (last & 31));
  if (from === to) {
    words[from]! |= head & tail;
    return;
  }
  words[from]! |= head;
  words.fill(0xffffffff, from + 1, to);
  words[to]! |= tail;
}

function isList(ids: Iterable<number>): ids is readonly number[] | Int32Array {
  return Array.isArray(ids) || ids instanceof Int32Array;
}

function popCount(word: number): number {
  let n = word - ((word >>> 1) & 0x55555555);
  n = (n & 0x33333333) + ((n >>> 2) & 0x33333333);
  return Math.imul((n + (n >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
