import type { Claim } from '../../../kube';

/**
 * The time at which this replica first saw each claim, by its own monotonic clock. The time in a claim is of the clock
 * of the replica that wrote it: it distinguishes claims of one pod, and is never compared with a clock here. A claim is
 * at least as old as it is here.
 */
export class SeenClaims {
  private readonly byNode = new Map<string, ReadonlyMap<string, number>>();

  /** @param clockMs monotonic clock */
  constructor(private readonly clockMs: () => number) {}

  /** The node has these claims now. */
  note(node: string, claims: ReadonlyMap<string, Claim>): void {
    if (claims.size === 0) {
      this.forget(node);
      return;
    }
    const before = this.byNode.get(node);
    const nowMs = this.clockMs();
    const keys = [...claims].map(([uid, claim]) => keyOfClaim(uid, claim));
    this.byNode.set(node, new Map(keys.map((key) => [key, before?.get(key) ?? nowMs])));
  }

  forget(node: string): void {
    this.byNode.delete(node);
  }

  /** The time when it was first seen: now, if it was not noted. */
  sinceMs(node: string, uid: string, claim: Claim): number {
    return this.byNode.get(node)?.get(keyOfClaim(uid, claim)) ?? this.clockMs();
  }
}

/** Identifies a claim among those of a node: a later one of the same pod is another. */
export function keyOfClaim(uid: string, { atMs }: Claim): string {
  return `${uid} ${atMs}`;
}
