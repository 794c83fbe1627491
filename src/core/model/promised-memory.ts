import type { Container } from './container';

/** Bytes that containers were promised, by memory node. A limit counts in equal parts on the nodes that it may use. */
export type BytesByNode = ReadonlyMap<number, number>;

/** The sum over all containers, kept up to date with each write. */
export class PromisedMemory {
  /** By the nodes of a promise, so that all sums are of whole numbers. */
  private readonly limitsByNodes = new Map<string, { readonly nodes: readonly number[]; readonly bytes: number }>();

  follow(before: Container | undefined, after: Container | undefined): void {
    if (before) this.change(before, -1);
    if (after) this.change(after, 1);
  }

  /** The bytes of all containers without those of `except`, which must be among them. */
  without(except: readonly Container[] = []): BytesByNode {
    const promised = new Map<number, number>();
    const count = (nodes: readonly number[], bytes: number): void => {
      for (const node of nodes) promised.set(node, (promised.get(node) ?? 0) + bytes / nodes.length);
    };
    for (const { nodes, bytes } of this.limitsByNodes.values()) count(nodes, bytes);
    for (const container of except) count(nodesOf(container), -bytesOf(container));
    return promised;
  }

  private change(container: Container, by: 1 | -1): void {
    const bytes = bytesOf(container);
    if (bytes === 0) return;
    const key = container.promise!.mems.toString();
    const before = this.limitsByNodes.get(key) ?? { nodes: nodesOf(container), bytes: 0 };
    const now = before.bytes + by * bytes;
    if (now === 0) this.limitsByNodes.delete(key);
    else this.limitsByNodes.set(key, { ...before, bytes: now });
  }
}

function nodesOf({ promise }: Container): number[] {
  return promise?.mems.toArray() ?? [];
}

/** The part of the container's limit that counts: 0 when its memory is left alone. */
function bytesOf({ promise, resources }: Container): number {
  return promise === undefined || promise.mems.isEmpty ? 0 : (resources.memoryLimitBytes ?? 0);
}
