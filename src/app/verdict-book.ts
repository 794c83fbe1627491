import type { Container } from '../core/model/container';
import type { Verdict } from '../core/verdict/judge';
import type { Observation } from '../core/verdict/observation';

export interface VerdictEntry {
  readonly verdict: Verdict;
  /** Since when it is of this kind, RFC 3339. */
  readonly since: string;
  readonly observation: Observation;
  /** When it was observed, RFC 3339. */
  readonly at: string;
}

/** The last verdict on each container, and since when it holds. */
export class VerdictBook {
  private readonly entries = new Map<string, VerdictEntry>();
  private changes = 0;

  /** Goes up with every change. */
  get revision(): number {
    return this.changes;
  }

  /** Returns the entry before, if there was one. */
  record(containerId: string, verdict: Verdict, observation: Observation, at: string): VerdictEntry | undefined {
    const before = this.entries.get(containerId);
    const since = before?.verdict.kind === verdict.kind ? before.since : at;
    this.changes++;
    this.entries.set(containerId, { verdict, since, observation, at });
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
