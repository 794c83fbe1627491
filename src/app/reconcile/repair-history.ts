import type { Container, CpuPromise } from '../../core/model/container';
import { decideRepair, type RepairRecord, type RepairDecision } from '../../core/verdict/repair-backoff';

/**
 * Remembers the repairs of each container, so that a container that other writers change again and again is repaired
 * less often.
 */
export class RepairHistory {
  private readonly histories = new Map<string, RepairRecord>();
  private readonly dueAtMs = new Map<string, number>();

  /** Decides on one more repair and remembers it. */
  decideRepair(
    containerId: string,
    at: { readonly promise: CpuPromise; readonly nowMs: number; readonly written: boolean },
  ): RepairDecision {
    const decision = decideRepair(this.histories.get(containerId), at);
    this.histories.set(containerId, decision.history);
    if (decision.action === 'wait') this.dueAtMs.set(containerId, decision.untilMs);
    else this.dueAtMs.delete(containerId);
    return decision;
  }

  /** The kernel refused the repair. */
  noteRefusal(containerId: string): void {
    const history = this.histories.get(containerId);
    if (history) this.histories.set(containerId, { ...history, refused: true });
  }

  /** The kernel has what was promised: the drift is over. */
  settle(containerId: string, nowMs: number): void {
    const history = this.histories.get(containerId);
    this.dueAtMs.delete(containerId);
    if (history && history.phase !== 'repaired')
      this.histories.set(containerId, { ...history, phase: 'repaired', repairedAtMs: nowMs });
  }

  /** Number of recent repairs of the present promise. */
  repairsOf(containerId: string): number {
    return this.histories.get(containerId)?.repairs ?? 0;
  }

  /** Containers whose wait is over. Each is returned once. */
  takeDue(nowMs: number): string[] {
    const due = [...this.dueAtMs].flatMap(([id, atMs]) => (atMs <= nowMs ? [id] : []));
    for (const id of due) this.dueAtMs.delete(id);
    return due;
  }

  /** Time at which the next wait is over; undefined when no container waits. */
  get nextDueMs(): number | undefined {
    return this.dueAtMs.size === 0 ? undefined : Math.min(...this.dueAtMs.values());
  }

  /** Forgets containers that are gone. */
  keepOnly(containers: ReadonlyMap<string, Container>): void {
    for (const id of this.histories.keys()) if (!containers.has(id)) this.histories.delete(id);
    for (const id of this.dueAtMs.keys()) if (!containers.has(id)) this.dueAtMs.delete(id);
  }
}
