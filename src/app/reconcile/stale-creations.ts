import type { NodeView } from '../../core/model/node-model';

/** The kubelet gives up a creation after two minutes; no runtime takes nearly as long as this. */
const PATIENCE_MS = 10 * 60_000;

/** Creations that nobody ever told the end of: the answer to one was lost, or the runtime forgot it. */
export class OverdueCreations {
  private seenAtMs = new Map<string, number>();

  /** Looks at what is being made; returns ids of those that have been for too long. Call it in every round. */
  look({ containers }: NodeView, nowMs: number): ReadonlySet<string> {
    const creating = [...containers.values()].filter(({ phase }) => phase === 'creating');
    this.seenAtMs = new Map(creating.map(({ id }) => [id, this.seenAtMs.get(id) ?? nowMs]));
    return new Set([...this.seenAtMs].flatMap(([id, atMs]) => (nowMs - atMs >= PATIENCE_MS ? [id] : [])));
  }
}
