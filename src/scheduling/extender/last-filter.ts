import type { NodeRecord } from './cluster/node-records';
import { ScoredNodes } from './scored-nodes';
import type { Scores } from './verdict';

/** kube-scheduler asks for scores at once; after this time they are made again. */
const VALID_MS = 1_000;

/**
 * The nodes that the last filter has let pass, with their scores at that time: the scheduler asks for these next. So a
 * pod is filtered and scored by the same facts, and thousands of nodes are looked at once.
 */
export class LastFilter {
  private uid = '';
  private atMs = -Infinity;
  private names: string[] = [];
  private readonly scored = new ScoredNodes();

  /** Forgets the filter before. */
  begin(uid: string, atMs: number): void {
    this.uid = uid;
    this.atMs = atMs;
    this.names = [];
    this.scored.clear();
  }

  add(node: NodeRecord, scores: Scores): void {
    this.names.push(node.name);
    this.scored.push(node.number, scores);
  }

  /**
   * Undefined when the last filter was that of another pod, left other nodes, or is too long ago. Valid until the next
   * filter.
   */
  find(uid: string, names: readonly string[], nowMs: number): ScoredNodes | undefined {
    if (this.uid !== uid || nowMs < this.atMs || nowMs >= this.atMs + VALID_MS) return undefined;
    const isSame = names.length === this.names.length && names.every((name, i) => name === this.names[i]);
    return isSame ? this.scored : undefined;
  }
}
