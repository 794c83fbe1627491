import { CpuSet } from '../cpuset';

/** Counts the holders of each CPU (or NUMA node), and keeps the set of those that have a holder. */
export class CpuCounts {
  private readonly counts = new Map<number, number>();
  private held = CpuSet.empty;

  /** All that have a holder. */
  get cpus(): CpuSet {
    return this.held;
  }

  of(cpu: number): number {
    return this.counts.get(cpu) ?? 0;
  }

  /** All that have a holder, when one holder of these is left out. */
  without(cpus: CpuSet): CpuSet {
    const alone: number[] = [];
    cpus.forEach((cpu) => {
      if (this.of(cpu) === 1) alone.push(cpu);
    });
    return this.held.minus(CpuSet.of(alone));
  }

  /** Adds a holder of these, or takes one away. */
  change(cpus: CpuSet, by: 1 | -1): void {
    const turned: number[] = [];
    cpus.forEach((cpu) => {
      const before = this.of(cpu);
      const now = before + by;
      if (now === 0) this.counts.delete(cpu);
      else this.counts.set(cpu, now);
      if (now === 0 || before === 0) turned.push(cpu);
    });
    const set = CpuSet.of(turned);
    this.held = by === 1 ? this.held.union(set) : this.held.minus(set);
  }
}
