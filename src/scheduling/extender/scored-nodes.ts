import { NumberList } from './number-list';
import type { Scores } from './verdict';

const PARTS = 4;

/** Nodes, by the numbers of their records, with their scores. */
export class ScoredNodes {
  private readonly nodes = new NumberList(Uint32Array);
  private readonly parts = new NumberList(Uint16Array);

  get length(): number {
    return this.nodes.length;
  }

  push(node: number, { Dynamic, NodeResourceTopologyMatch, wholeCpus, total }: Scores): void {
    this.nodes.push(node);
    this.parts.push(total);
    this.parts.push(Dynamic);
    this.parts.push(NodeResourceTopologyMatch);
    this.parts.push(wholeCpus);
  }

  /** The total score of the i-th node. */
  totalOf(i: number): number {
    return this.parts.at(i * PARTS);
  }

  /** Scores by the number of the node. */
  toMap(): ReadonlyMap<number, Scores> {
    const map = new Map<number, Scores>();
    for (let i = 0; i < this.nodes.length; i++) {
      const [total, Dynamic, NodeResourceTopologyMatch, wholeCpus] = [0, 1, 2, 3].map((part) =>
        this.parts.at(i * PARTS + part),
      );
      map.set(this.nodes.at(i), {
        Dynamic: Dynamic!,
        NodeResourceTopologyMatch: NodeResourceTopologyMatch!,
        wholeCpus: wholeCpus!,
        total: total!,
      });
    }
    return map;
  }

  clear(): void {
    this.nodes.clear();
    this.parts.clear();
  }

  /** Becomes the same as the others. */
  copy(others: ScoredNodes): void {
    this.nodes.copy(others.nodes);
    this.parts.copy(others.parts);
  }
}
