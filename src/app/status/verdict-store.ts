import type { Container } from '../../core/model/container';
import { reuseParts, type Judgement } from '../../core/verdict/judgement';

export interface VerdictEntry extends Judgement {
  /** Since when it is of this kind, RFC 3339; one that says that a promise is kept begins with the promise. */
  readonly since: string;
  /** When it was observed, RFC 3339. */
  readonly at: string;
}

/** The last verdict on each container, and since when it holds. */
export class VerdictStore {
  private readonly entries = new Map<string, VerdictEntry>();
  private changes = 0;

  /** Goes up with every change. */
  get revision(): number {
    return this.changes;
  }

  /** Returns the entry before, if there was one. */
  record(containerId: string, judgement: Judgement, at: string): VerdictEntry | undefined {
    const before = this.entries.get(containerId);
    this.changes++;
    const { verdict, observation, basis } = reuseParts(before, judgement);
    const since = goesOn(before, judgement) ? before.since : at;
    this.entries.set(containerId, { verdict, observation, basis, since, at });
    return before;
  }

  get(containerId: string): VerdictEntry | undefined {
    return this.entries.get(containerId);
  }

  /** Forgets containers that are gone. */
  keepOnly(containers: ReadonlyMap<string, Container>): void {
    for (const id of this.entries.keys()) if (!containers.has(id) && this.entries.delete(id)) this.changes++;
  }
}

function goesOn(before: VerdictEntry | undefined, { verdict, basis }: Judgement): before is VerdictEntry {
  if (before?.verdict.kind !== verdict.kind) return false;
  const saysKept = verdict.kind === 'kept' || verdict.kind === 'held-under-old-rules';
  return !saysKept || before.basis.promise === basis.promise;
}
