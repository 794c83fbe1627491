import { CpuSet } from '../cpuset';
import { kindOfTask, progressOf, TASK_KINDS, type ExclusiveOwner, type TaskKind, type TaskSample } from './sample';

/** The last reading of the threads that may run on exclusive CPUs. */
export interface AuditMemory {
  /** Time since the boot at which the reading began, in ticks of 10 ms. */
  readonly atTicks: number;
  readonly seen: ReadonlyMap<number, Seen>;
}

type Seen = Pick<TaskSample, 'startTicks' | 'runNs' | 'waitNs' | 'preemptions'>;

/** Sums over all owners since the reading before. */
export interface AuditTotals {
  /** Threads that ran, and were found on the CPUs of an owner that they do not belong to. */
  readonly foreignTasks: Readonly<Record<TaskKind, number>>;
  /** The time that those ran, in ns. */
  readonly foreignNs: Readonly<Record<TaskKind, number>>;
  /** Time that threads of the owners were ready and had no CPU, in ns. */
  readonly ownerWaitNs: number;
}

/** The threads of others that ran on the CPUs of an owner. */
interface ForeignOfOwner {
  readonly ns: number;
  readonly threads: number;
  /** The name of the thread that ran most. */
  readonly most: string;
  readonly mostNs: number;
}

/** The load of others on the CPUs of a container. */
export interface ForeignShare {
  /** Part of the time of these CPUs. */
  readonly percent: number;
  readonly threads: number;
  /** The name of the one that ran most; empty without any. */
  readonly most: string;
}

/** The ticks of `/proc/uptime` and of threads' starts. */
const NS_PER_TICK = 10_000_000;

/** Adds up threads one by one, in constant time each, whatever the number of owners. Does no I/O. */
export class AuditTally {
  /** All CPUs of the owners: threads that may run on none of them need not be added. */
  readonly cpus: CpuSet;
  private readonly owners: readonly ExclusiveOwner[];
  private readonly ownerOfCpu = new Map<number, ExclusiveOwner>();
  private readonly ownerOfContainer = new Map<string, ExclusiveOwner>();
  private readonly seen = new Map<number, Seen>();
  private readonly foreignTasks = zeros();
  private readonly foreignNs = zeros();
  private readonly foreignByOwner = new Map<ExclusiveOwner, ForeignOfOwner>();
  private ownerWaitNs = 0;

  /**
   * @param before absent: nothing is known of the time before
   * @param atTicks time since the boot, in ticks of 10 ms
   */
  constructor(
    owners: readonly ExclusiveOwner[],
    private readonly atTicks: number,
    private readonly before?: AuditMemory,
  ) {
    this.owners = owners;
    this.cpus = CpuSet.unionOf(owners.map(({ cpus }) => cpus));
    for (const owner of owners) {
      for (const cpu of owner.cpus) this.ownerOfCpu.set(cpu, owner);
      for (const id of owner.containerIds) this.ownerOfContainer.set(id, owner);
    }
  }

  add(task: TaskSample): void {
    const { tid, startTicks, runNs, waitNs, preemptions } = task;
    this.seen.set(tid, { startTicks, runNs, waitNs, preemptions });
    if (!this.before) return;
    const { ranNs, waitedNs } = progressOf(task, this.before.seen.get(tid), this.before.atTicks);
    const owner = this.ownerOf(task);
    if (owner) this.ownerWaitNs += waitedNs;
    const owned = this.ownerOfCpu.get(task.lastCpu);
    if (ranNs === 0 || !owned || owned === owner) return;
    const kind = kindOfTask(task);
    this.foreignTasks[kind] += 1;
    this.foreignNs[kind] += ranNs;
    const { ns, threads, most, mostNs } = this.foreignByOwner.get(owned) ?? { ns: 0, threads: 0, most: '', mostNs: 0 };
    const isMost = ranNs > mostNs;
    this.foreignByOwner.set(owned, {
      ns: ns + ranNs,
      threads: threads + 1,
      most: isMost ? task.name : most,
      mostNs: isMost ? ranNs : mostNs,
    });
  }

  totals(): AuditTotals {
    const { foreignTasks, foreignNs, ownerWaitNs } = this;
    return { foreignTasks, foreignNs, ownerWaitNs };
  }

  /**
   * The load of others since the reading before, by the ids of the owners' containers: none where nothing is known of
   * before.
   */
  loads(): ReadonlyMap<string, ForeignShare> {
    const loads = new Map<string, ForeignShare>();
    const spanNs = this.before ? (this.atTicks - this.before.atTicks) * NS_PER_TICK : 0;
    if (spanNs <= 0) return loads;
    for (const owner of this.owners) {
      const { ns = 0, threads = 0, most = '' } = this.foreignByOwner.get(owner) ?? {};
      const percent = Math.min(100, (ns / (spanNs * owner.cpus.size)) * 100);
      for (const id of owner.containerIds) loads.set(id, { percent, threads, most });
    }
    return loads;
  }

  /** For the tally after this one. */
  memory(): AuditMemory {
    return { atTicks: this.atTicks, seen: this.seen };
  }

  private ownerOf({ containerIds = [] }: TaskSample): ExclusiveOwner | undefined {
    for (const id of containerIds) {
      const owner = this.ownerOfContainer.get(id);
      if (owner) return owner;
    }
    return undefined;
  }
}

function zeros(): Record<TaskKind, number> {
  return Object.fromEntries(TASK_KINDS.map((kind) => [kind, 0])) as Record<TaskKind, number>;
}
