import type { Container } from './container';
import { SumsByPlace, type Part } from './sums-by-place';

/** Bytes that containers were promised, by memory node. A limit counts in equal parts on the nodes that it may use. */
export type BytesByNode = ReadonlyMap<number, number>;

/** The limits of all containers, by the memory nodes of their promises, so that all sums are of whole numbers. */
export class PromisedMemory {
  private readonly limits = new SumsByPlace(limitOf);

  follow(before: Container | undefined, after: Container | undefined): void {
    this.limits.follow(before, after);
  }

  /** The bytes of all containers without those of `except`, which must be among them. */
  without(except?: readonly Container[]): BytesByNode {
    const promised = new Map<number, number>();
    for (const { place: nodes, bytes } of this.limits.without(except))
      for (const node of nodes) promised.set(node, (promised.get(node) ?? 0) + bytes / nodes.length);
    return promised;
  }
}

const NONE: readonly never[] = [];

/** None where memory is left alone. */
function limitOf({
  promise,
  resources: { memoryLimitBytes: bytes = 0 },
}: Container): readonly Part<readonly number[]>[] {
  if (bytes === 0 || promise === undefined || promise.mems.isEmpty) return NONE;
  return [{ key: promise.mems.toString(), place: promise.mems.toArray(), bytes }];
}
