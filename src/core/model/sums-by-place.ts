import type { Container } from './container';

/** Bytes that count in one place. Parts with the same key count in the same place. */
export interface Part<P> {
  readonly key: string;
  readonly place: P;
  readonly bytes: number;
}

/**
 * The bytes of containers, added up by place and kept up to date with each write. There are fewer places than CPUs and sets of nodes, however many
 * containers ask.
 */
export class SumsByPlace<P> {
  private readonly sums = new Map<string, Part<P>>();

  constructor(private readonly partsOf: (container: Container) => readonly Part<P>[]) {}

  follow(before: Container | undefined, after: Container | undefined): void {
    if (before) for (const part of this.partsOf(before)) this.change(part, -1);
    if (after) for (const part of this.partsOf(after)) this.change(part, 1);
  }

  /** The sums of all containers without those of `except`, which must be among them. */
  without(except: readonly Container[] = []): Part<P>[] {
    const own = new Map<string, number>();
    for (const { key, bytes } of except.flatMap(this.partsOf)) own.set(key, (own.get(key) ?? 0) + bytes);
    return [...this.sums.values()].map((sum) => ({ ...sum, bytes: sum.bytes - (own.get(sum.key) ?? 0) }));
  }

  private change({ key, place, bytes }: Part<P>, by: 1 | -1): void {
    const now = (this.sums.get(key)?.bytes ?? 0) + by * bytes;
    if (now === 0) this.sums.delete(key);
    else this.sums.set(key, { key, place, bytes: now });
  }
}
