/** An entry of a list, and how many bytes come before it: those of the entries before, without separators. */
interface Placed<T> {
  readonly entry: T;
  readonly offset: number;
}

/**
 * A list of entries as bytes, between a head and a tail, in two layouts that differ in what separates the entries.
 *
 * A list mostly differs from the one before it in few entries. What both have at their beginning stays where it is, and what both
 * have at their end is moved as a whole, so a new list costs little more than its new entries and the bytes that are copied.
 */
export class EntryBytes<T extends object> {
  private placed: readonly Placed<T>[] = [];
  private size = 0;
  private readonly layouts: readonly Layout[];

  /** `room`: the bytes that a head can have at most. */
  constructor(
    private readonly textOf: (entry: T) => string,
    separators: readonly string[],
    room: number,
  ) {
    this.layouts = separators.map((separator) => new Layout(separator, room));
  }

  /** Takes the place of the list before. An entry that is the same object has the same text. */
  set(entries: readonly T[]): void {
    const { placed, size } = this;
    // Until all is in its place nothing is: a fault on the way makes the next list be written from its beginning.
    [this.placed, this.size] = [[], 0];
    const least = Math.min(placed.length, entries.length);
    let same = 0;
    while (same < least && placed[same]!.entry === entries[same]) same++;
    let tail = 0;
    while (tail < least - same && placed[placed.length - 1 - tail]!.entry === entries[entries.length - 1 - tail])
      tail++;

    const [cut, end] = [placed.length - tail, entries.length - tail];
    const offsetOf = (index: number): number => placed[index]?.offset ?? size;
    const texts = entries.slice(same, end).map(this.textOf);
    const next = placed.slice(0, same);
    let offset = offsetOf(same);
    texts.forEach((text, i) => {
      next.push({ entry: entries[same + i]!, offset });
      offset += Buffer.byteLength(text);
    });
    for (const layout of this.layouts)
      layout.replace(
        { index: same, offset: offsetOf(same) },
        { index: cut, offset: offsetOf(cut) },
        { index: placed.length, offset: size },
        texts,
      );
    const moved = offset - offsetOf(cut);
    for (let i = cut; i < placed.length; i++)
      next.push(moved === 0 ? placed[i]! : { entry: placed[i]!.entry, offset: placed[i]!.offset + moved });
    [this.placed, this.size] = [next, size + moved];
  }

  /** The list in one of the layouts; `head` and `tail` stand for the separator before the first entry and for what follows the last. The bytes are good until the next call. */
  frame(layout: number, head: string, tail: string): Uint8Array {
    return this.layouts[layout]!.frame({ index: this.placed.length, offset: this.size }, head, tail);
  }
}

/** A place in the list: an entry that begins there, and the bytes of those before it. */
interface Place {
  readonly index: number;
  readonly offset: number;
}

/** Each entry has the separator in front, the first one too: there the head is written over it. */
class Layout {
  private bytes: Buffer;

  constructor(
    private readonly separator: string,
    private readonly room: number,
  ) {
    this.bytes = Buffer.alloc(room);
  }

  /** Puts texts in the place of what is from `from` to `to` in a list that ends at `end`. */
  replace(from: Place, to: Place, end: Place, texts: readonly string[]): void {
    const text = texts.map((each) => this.separator + each).join('');
    const [begin, old, last] = [this.at(from), this.at(to), this.at(end)];
    const length = Buffer.byteLength(text);
    const before = this.bytes;
    this.reserve(begin + length + last - old, begin);
    before.copy(this.bytes, begin + length, old, last);
    this.bytes.write(text, begin);
    // The head was written over the separator of what came first before.
    if (to.index === 0 && last > old) this.bytes.write(this.separator, begin + length);
  }

  frame(end: Place, head: string, tail: string): Uint8Array {
    const [last, length] = [this.at(end), Buffer.byteLength(tail)];
    this.reserve(last + length, last);
    this.bytes.write(tail, last);
    const begin = this.room + (end.index === 0 ? 0 : this.separator.length) - Buffer.byteLength(head);
    this.bytes.write(head, begin);
    return this.bytes.subarray(begin, last + length);
  }

  private at({ index, offset }: Place): number {
    return this.room + offset + index * this.separator.length;
  }

  /** Makes it so large, and keeps the first `kept` bytes. */
  private reserve(size: number, kept: number): void {
    if (size <= this.bytes.length) return;
    const before = this.bytes;
    this.bytes = Buffer.alloc(size + (size >> 1));
    before.copy(this.bytes, 0, 0, kept);
  }
}
