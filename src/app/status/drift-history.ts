import type { DriftTally } from '../../admin/model/status';

interface KnownContainers {
  has(containerId: string): boolean;
}

/** Counts the drifts of each container that is there, since cpusetd started, and what became of their repairs. */
export class DriftHistory {
  private readonly tallies = new Map<string, DriftTally>();
  private changes = 0;

  /**
   * `known`: the containers that there are. Others are forgotten when a new one drifts, so the memory is bounded by
   * those.
   */
  constructor(private readonly known: () => KnownContainers) {}

  /** Goes up with every change. */
  get revision(): number {
    return this.changes;
  }

  /** Undefined for one that has not drifted. The same object while nothing has changed. */
  get(containerId: string): DriftTally | undefined {
    return this.tallies.get(containerId);
  }

  /** `at`: RFC 3339. */
  noteDrift(containerId: string, at: string): void {
    const before = this.tallies.get(containerId);
    if (!before) this.forgetGone();
    const { drifts, repairs, failedRepairs } = before ?? { drifts: 0, repairs: 0, failedRepairs: 0 };
    this.put(containerId, { drifts: drifts + 1, repairs, failedRepairs, lastAt: at });
  }

  noteRepair(containerId: string, outcome: 'ok' | 'failed'): void {
    const before = this.tallies.get(containerId);
    if (!before) return;
    const { repairs, failedRepairs } = before;
    this.put(
      containerId,
      outcome === 'ok' ? { ...before, repairs: repairs + 1 } : { ...before, failedRepairs: failedRepairs + 1 },
    );
  }

  private put(containerId: string, tally: DriftTally): void {
    this.changes++;
    this.tallies.set(containerId, tally);
  }

  private forgetGone(): void {
    const known = this.known();
    for (const id of this.tallies.keys()) if (!known.has(id)) this.tallies.delete(id);
  }
}
