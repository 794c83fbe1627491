import type { Container, CpuPromise } from '../../core/model/container';
import { restrain, type Quarrel, type Restraint } from '../../core/verdict/restraint';

/** How the repairs of each container went, so that they never become a fight. */
export class RepairHistory {
  private readonly quarrels = new Map<string, Quarrel>();
  private readonly dueAtMs = new Map<string, number>();

  /** Decides on one more repair and remembers it. */
  restrain(
    containerId: string,
    at: { readonly promise: CpuPromise; readonly nowMs: number; readonly written: boolean },
  ): Restraint {
    const restraint = restrain(this.quarrels.get(containerId), at);
    this.quarrels.set(containerId, restraint.quarrel);
    if (restraint.action === 'wait') this.dueAtMs.set(containerId, restraint.untilMs);
    else this.dueAtMs.delete(containerId);
    return restraint;
  }

  /** The kernel refused the repair. */
  noteRefusal(containerId: string): void {
    const quarrel = this.quarrels.get(containerId);
    if (quarrel) this.quarrels.set(containerId, { ...quarrel, refused: true });
  }

  /** The kernel has what was promised, whoever put it right. */
  settle(containerId: string, nowMs: number): void {
    const quarrel = this.quarrels.get(containerId);
    this.dueAtMs.delete(containerId);
    if (quarrel && quarrel.phase !== 'repaired')
      this.quarrels.set(containerId, { ...quarrel, phase: 'repaired', repairedAtMs: nowMs });
  }

  /** How often the present promise was repaired shortly before. */
  repairsOf(containerId: string): number {
    return this.quarrels.get(containerId)?.repairs ?? 0;
  }

  /** Containers whose wait is over; each is told once. */
  takeDue(nowMs: number): string[] {
    const due = [...this.dueAtMs].flatMap(([id, atMs]) => (atMs <= nowMs ? [id] : []));
    for (const id of due) this.dueAtMs.delete(id);
    return due;
  }

  /** When the next wait is over; undefined when nobody waits. */
  get nextDueMs(): number | undefined {
    return this.dueAtMs.size === 0 ? undefined : Math.min(...this.dueAtMs.values());
  }

  /** Forgets containers that are gone. */
  keepOnly(containers: ReadonlyMap<string, Container>): void {
    for (const id of this.quarrels.keys()) if (!containers.has(id)) this.quarrels.delete(id);
    for (const id of this.dueAtMs.keys()) if (!containers.has(id)) this.dueAtMs.delete(id);
  }
}
