import type { CpuSet } from '../../core/cpuset';
import { busyMilliCpuOf, rateOf } from './growth';
import type { UsageSample } from './sample';

/** The busy time of exclusive CPUs between two readings, in thousandths of a CPU. */
export interface ExclusiveUse {
  /** CPU time of the containers that have these CPUs. */
  readonly ownersMilliCpu: number;
  /** The rest: other processes, threads of the kernel, interrupts. */
  readonly othersMilliCpu: number;
}

/**
 * Tells the work of the owners from that of others. The kernel counts the busy time of each CPU, and the CPU time of
 * each cgroup; the difference is the others'. Undefined when the time of one owner or one CPU is not in both readings:
 * nothing is guessed. The two counters have different grains (10 ms and 1 ns), so a difference below zero is none.
 */
export function deriveExclusiveUse(
  before: Pick<UsageSample, 'cpus' | 'containers'>,
  after: Pick<UsageSample, 'cpus' | 'containers'>,
  { exclusive, owners }: { readonly exclusive: CpuSet; readonly owners: ReadonlySet<string> },
): ExclusiveUse | undefined {
  let used = 0;
  for (const id of owners) {
    const [then, now] = [before.containers.get(id), after.containers.get(id)];
    const rate = then && now && rateOf(then.cpuNs, now.cpuNs, now.monotonicNs - then.monotonicNs);
    if (rate === undefined) return undefined;
    used += rate * 1000;
  }
  const busy = exclusive.isEmpty ? 0 : busyMilliCpuOf(before, after, exclusive);
  if (busy === undefined) return undefined;
  return { ownersMilliCpu: used, othersMilliCpu: Math.max(0, busy - used) };
}
