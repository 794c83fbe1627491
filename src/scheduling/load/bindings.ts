/** A pod that a scheduler has bound to a node. */
export interface Binding {
  /** Identifies the binding: the pod's uid, or that of the Event where it does not name one. */
  readonly uid: string;
  readonly node: string;
  readonly timestampMs: number;
}

/**
 * The newest bindings of the cluster, each counted once, however often and in whatever order it is reported. At most
 * `maxCount` are kept; the oldest makes room.
 *
 * Upstream keeps them in one heap that each count walks through, and counts a binding again for each update of its
 * Event.
 */
export class Bindings {
  /** Binding times by node, ascending. */
  private readonly byNode = new Map<string, Binding[]>();
  private readonly byUid = new Map<string, Binding>();

  constructor(private readonly maxCount: number) {}

  get size(): number {
    return this.byUid.size;
  }

  /** The nodes that have bindings. */
  get nodes(): Iterable<string> {
    return this.byNode.keys();
  }

  /** Adds a binding, unless it is known. When there are too many, the oldest goes, which may be the new one. */
  add(binding: Binding): void {
    if (this.byUid.has(binding.uid)) return;
    this.byUid.set(binding.uid, binding);
    const ofNode = this.byNode.get(binding.node);
    if (ofNode) ofNode.splice(findAfter(ofNode, binding.timestampMs), 0, binding);
    else this.byNode.set(binding.node, [binding]);
    if (this.byUid.size > this.maxCount) this.dropOldest();
  }

  /** Forgets a binding. Returns its node, or undefined when it is not known. */
  remove(uid: string): string | undefined {
    const binding = this.byUid.get(uid);
    if (!binding) return undefined;
    const ofNode = this.byNode.get(binding.node)!;
    this.byUid.delete(uid);
    ofNode.splice(ofNode.indexOf(binding), 1);
    if (ofNode.length === 0) this.byNode.delete(binding.node);
    return binding.node;
  }

  /** Forgets all bindings but these. */
  keepOnly(uids: ReadonlySet<string>): void {
    for (const uid of this.byUid.keys()) if (!uids.has(uid)) this.remove(uid);
  }

  /**
   * The number of bindings of a node that are younger than `rangeMs`, which counts in whole seconds as upstream's does.
   */
  count(node: string, rangeMs: number, nowMs: number): number {
    const ofNode = this.byNode.get(node) ?? [];
    const sinceSeconds = Math.floor(nowMs / 1_000) - Math.floor(rangeMs / 1_000);
    return ofNode.length - findAfter(ofNode, sinceSeconds * 1_000 + 999);
  }

  /** Forgets the bindings of this time and before. */
  dropUntil(ms: number): void {
    for (const [node, ofNode] of this.byNode) this.drop(node, ofNode, findAfter(ofNode, ms));
  }

  private dropOldest(): void {
    let oldest: readonly [string, Binding[]] | undefined;
    for (const entry of this.byNode)
      if (!oldest || entry[1][0]!.timestampMs < oldest[1][0]!.timestampMs) oldest = entry;
    if (oldest) this.drop(...oldest, 1);
  }

  private drop(node: string, ofNode: Binding[], count: number): void {
    for (const { uid } of ofNode.splice(0, count)) this.byUid.delete(uid);
    if (ofNode.length === 0) this.byNode.delete(node);
  }
}

/** The index of the first binding that is later than the time. */
function findAfter(bindings: readonly Binding[], ms: number): number {
  let [low, high] = [0, bindings.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (bindings[middle]!.timestampMs <= ms) low = middle + 1;
    else high = middle;
  }
  return low;
}
