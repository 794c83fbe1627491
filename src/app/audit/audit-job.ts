import type { AuditMetrics } from '../../admin/metrics/audit-metrics';
import { keepSteady, listOwners, type Assigned } from '../../admin/model/exclusive-owners';
import type { ForeignLoad } from '../../admin/model/status';
import type { ExclusiveOwner } from '../../core/audit/sample';
import { AuditTally, type AuditMemory } from '../../core/audit/tally-audit';
import { CpuSet } from '../../core/cpuset';
import {
  readCpuTimes,
  readInterruptTotals,
  readUptimeTicks,
  seesAllTasks,
  TimeSlices,
  visitTasks,
  type InterruptTotals,
} from '../../host';
import type { DaemonContext } from '../context';
import { Period, repeat } from '../lifecycle/repeat';

export interface AuditJobParts {
  readonly context: Pick<DaemonContext, 'config' | 'faults' | 'log'>;
  /** The machine, and the owners of its CPUs now. */
  readonly assigned: () => Assigned;
  /** Absent where there are none. */
  readonly metrics: Pick<AuditMetrics, 'note'> | undefined;
  /**
   * Takes what ran on the CPUs of each container, by its id: nothing where threads are not visible, nothing is known of
   * before, or an audit failed.
   */
  readonly onForeign: (loads: ReadonlyMap<string, ForeignLoad>) => void;
  readonly procRoot?: string;
}

/** The longest time without a turn for the runtime, in ms. */
const SLICE_MS = 3;

/** Everything that was read by one audit, for the next one. */
interface Reading {
  readonly owners: readonly ExclusiveOwner[];
  readonly tasks: AuditMemory | undefined;
  readonly interrupts: InterruptTotals;
  readonly stealMs: ReadonlyMap<number, number>;
}

/** Looks in each `--audit-period` at who was on exclusive CPUs since the last time, and counts it for the metrics. */
export class AuditJob {
  private before: Reading | undefined;
  private hasWarned = false;

  constructor(private readonly parts: AuditJobParts) {}

  /** Runs until the signal is aborted. An audit that fails is a fault, and the next one is made all the same. */
  async run(signal: AbortSignal): Promise<void> {
    const { config, faults } = this.parts.context;
    const round = (): Promise<void> => faults.containAsync('the audit of exclusive CPUs', () => this.lookOrForget());
    await repeat(round, { period: new Period(config.auditPeriodMs!), signal });
  }

  /** Makes one audit. After one that failed nothing is known of now, so nothing is shown. */
  private async lookOrForget(): Promise<void> {
    try {
      await this.look();
    } catch (error) {
      this.parts.onForeign(new Map());
      throw error;
    }
  }

  /** Makes one audit. Throws the system's error when /proc can't be read. */
  async look(): Promise<void> {
    const { assigned, metrics, onForeign, procRoot = '/proc' } = this.parts;
    const slices = new TimeSlices(SLICE_MS);
    const owners = listOwners(assigned());
    const { before } = this;
    // Of CPUs that were given out since, nobody knows what ran there before.
    const steady = before ? keepSteady(before.owners, owners) : [];
    const cpus = CpuSet.unionOf(steady.map((owner) => owner.cpus));

    const isVisible = seesAllTasks(procRoot);
    if (!isVisible) this.warnOfHidden();
    const tally = isVisible ? new AuditTally(steady, readUptimeTicks(procRoot), before?.tasks) : undefined;
    const within = CpuSet.unionOf(owners.map((owner) => owner.cpus));
    if (tally && !within.isEmpty) await visitTasks({ within, procRoot }, slices, (task) => tally.add(task));
    const interrupts = await readInterruptTotals(slices, procRoot);
    const stealMs = new Map([...readCpuTimes(procRoot)].map(([cpu, times]) => [cpu, times.stealMs]));

    this.before = { owners, tasks: tally?.memory(), interrupts, stealMs };
    const at = new Date().toISOString();
    onForeign(new Map([...(tally?.loads() ?? [])].map(([id, share]) => [id, { at, ...share }])));
    metrics?.note({
      tasks: tally?.totals(),
      interrupts: {
        device: countMore(before?.interrupts.device, interrupts.device, cpus),
        kernel: countMore(before?.interrupts.kernel, interrupts.kernel, cpus),
        softirq: countMore(before?.interrupts.softirq, interrupts.softirq, cpus),
      },
      stealMs: countMore(before?.stealMs, stealMs, cpus),
      atMs: Date.now(),
      busyMs: slices.busyMs,
    });
  }

  private warnOfHidden(): void {
    if (this.hasWarned) return;
    this.hasWarned = true;
    this.parts.context.log.warn(
      { because: 'cpusetd is in a PID namespace of its own; the pod needs hostPID' },
      'the audit sees no threads, only interrupts and steal time',
    );
  }
}

/**
 * The growth on these CPUs. A CPU that was not there before counts nothing; neither does one whose count has fallen.
 */
function countMore(
  before: ReadonlyMap<number, number> | undefined,
  after: ReadonlyMap<number, number>,
  cpus: CpuSet,
): number {
  let sum = 0;
  for (const cpu of cpus) sum += Math.max(0, (after.get(cpu) ?? 0) - (before?.get(cpu) ?? Infinity));
  return sum;
}
