import { CpuSet } from '../cpuset';
import {
  kindOfTask,
  progressOf,
  type AuditSample,
  type CountSample,
  type ExclusiveOwner,
  type IrqSample,
  type TaskKind,
  type TaskSample,
} from './sample';

/** Threads of one program that may run on CPUs that are not theirs. */
export interface ForeignTask {
  readonly pid: number;
  readonly name: string;
  readonly kind: TaskKind;
  readonly threads: number;
  /** The CPUs of the owner that they may use. */
  readonly cpus: CpuSet;
  /** Some of them were seen on these CPUs, and ran meanwhile. */
  readonly ran: boolean;
  /** Time that they ran between two readings, in ms, where the second found them on these CPUs. */
  readonly ranMs: number;
}

/** An interrupt that is sent to CPUs of an owner, or may be. */
export interface ForeignIrq {
  readonly irq: number;
  readonly source: string;
  readonly cpus: CpuSet;
  /** It is really sent to them, as far as the kernel says. */
  readonly isEffective: boolean;
  /** Times that they handled it meanwhile. */
  readonly count: number;
  /** The kernel refused to move it. */
  readonly isFixed: boolean;
}

/** A foreign thread or interrupt that was on CPUs of an owner, and that somebody could keep off them. */
export function isIntruder(foreign: ForeignTask | ForeignIrq): boolean {
  return 'irq' in foreign ? foreign.count > 0 && !foreign.isFixed : foreign.ran && foreign.kind !== 'bound';
}

export interface Counted {
  readonly name: string;
  readonly count: number;
}

/** The events on the CPUs of one owner between two samples. */
export interface OwnerAudit {
  readonly owner: ExclusiveOwner;
  /** Those that ran first, by the time; then by their names. */
  readonly foreign: readonly ForeignTask[];
  readonly irqs: readonly ForeignIrq[];
  /** Softirqs that were handled on them, most first. */
  readonly softirqs: readonly Counted[];
  /** Interrupts of the kernel itself, such as `LOC` (timer) and `RES` (rescheduling), most first. */
  readonly kernelInterrupts: readonly Counted[];
  readonly stolen: Stolen;
}

/** Time that the owner's threads did not get. */
export interface Stolen {
  /**
   * Time on a CPU, and ready without one, of all its threads, in ms. The time that they were ready is behind foreign
   * threads and behind threads of its own.
   */
  readonly ranMs: number;
  readonly waitedMs: number;
  /** Times that a thread of it had to make room. */
  readonly preemptions: number;
  /** Time that the hypervisor took, in ms. */
  readonly stealMs: number;
}

/** Samples in the order of their time. */
export interface AuditSamples {
  readonly before: AuditSample;
  /** Threads in between: each reading says on which CPU a thread ran since the one before. */
  readonly between?: readonly (readonly TaskSample[])[];
  readonly after: AuditSample;
}

/** Tells for each owner who else used its CPUs, or could. Pure. */
export function judgeAudit(owners: readonly ExclusiveOwner[], samples: AuditSamples): readonly OwnerAudit[] {
  const { before, after } = samples;
  const tasks = followTasks(samples);
  const [interrupts, softirqs] = (['interrupts', 'softirqs'] as const).map((name) =>
    countMore(before[name], after[name]),
  ) as [readonly CountSample[], readonly CountSample[]];
  const sources = new Map(interrupts.map((each) => [each.name, each]));
  return owners.map((owner) => {
    const ids = new Set(owner.containerIds);
    const isOwn = ({ last }: FollowedTask): boolean => last.containerIds?.some((id) => ids.has(id)) ?? false;
    return {
      owner,
      foreign: groupForeign(
        owner,
        tasks.filter((task) => task.last.allowed.overlaps(owner.cpus) && !isOwn(task)),
      ),
      irqs: after.irqs.flatMap((irq) => describeIrq(owner, irq, sources.get(String(irq.irq)))),
      softirqs: mostOn(softirqs, owner.cpus),
      kernelInterrupts: mostOn(
        interrupts.filter(({ name }) => !/^\d+$/.test(name)),
        owner.cpus,
      ),
      stolen: sumStolen(owner, tasks.filter(isOwn), before.stealMs, after.stealMs),
    };
  });
}

/** A thread over all samples. */
interface FollowedTask {
  /** As it was seen last: perhaps before it ended. */
  readonly last: TaskSample;
  /** It is in the last sample too. */
  readonly isAlive: boolean;
  /** Time that it ran, by the CPU on which it was found after that. */
  readonly ranNs: ReadonlyMap<number, number>;
  readonly waitedNs: number;
  readonly preemptions: number;
}

function followTasks({ before, between = [], after }: AuditSamples): readonly FollowedTask[] {
  const keyOf = ({ tid, startTicks }: TaskSample): string => `${tid}/${startTicks}`;
  const followed = new Map(
    before.tasks.map((last): [string, FollowedTask] => [
      keyOf(last),
      { last, isAlive: false, ranNs: new Map(), waitedNs: 0, preemptions: 0 },
    ]),
  );
  for (const tasks of [...between, after.tasks]) {
    for (const task of tasks) {
      const seen = followed.get(keyOf(task));
      const { ranNs, waitedNs, preemptions } = progressOf(task, seen?.last, before.atTicks);
      const sum = new Map(seen?.ranNs);
      if (ranNs > 0) sum.set(task.lastCpu, (sum.get(task.lastCpu) ?? 0) + ranNs);
      followed.set(keyOf(task), {
        last: task,
        isAlive: tasks === after.tasks,
        ranNs: sum,
        waitedNs: (seen?.waitedNs ?? 0) + waitedNs,
        preemptions: (seen?.preemptions ?? 0) + preemptions,
      });
    }
  }
  return [...followed.values()];
}

function groupForeign({ cpus }: ExclusiveOwner, tasks: readonly FollowedTask[]): readonly ForeignTask[] {
  const groups = new Map<string, ForeignTask>();
  for (const { last, isAlive, ranNs } of tasks) {
    const { pid, name, allowed } = last;
    const kind = kindOfTask(last);
    const ns = sumOn(ranNs, cpus);
    if (!isAlive && ns === 0) continue;
    const key = `${pid}/${kind}`;
    const group = groups.get(key);
    groups.set(key, {
      pid,
      // The first thread of a process has its name.
      name: last.tid === pid ? name : (group?.name ?? name),
      kind,
      threads: (group?.threads ?? 0) + 1,
      cpus: (group?.cpus ?? CpuSet.empty).union(allowed.intersect(cpus)),
      ran: ns > 0 || (group?.ran ?? false),
      ranMs: (group?.ranMs ?? 0) + ns / 1e6,
    });
  }
  return [...groups.values()].sort((a, b) => b.ranMs - a.ranMs || (a.name < b.name ? -1 : 1));
}

function describeIrq(
  { cpus }: ExclusiveOwner,
  { irq, allowed, effective, isFixed = false }: IrqSample,
  counted: CountSample | undefined,
): readonly ForeignIrq[] {
  const count = counted ? sumOn(counted.counts, cpus) : 0;
  const meant = allowed.intersect(cpus);
  if (meant.isEmpty && count === 0) return [];
  const isEffective = effective ? effective.overlaps(cpus) : !meant.isEmpty;
  return [{ irq, source: counted?.source ?? '', cpus: meant, isEffective, count, isFixed }];
}

function countMore(before: readonly CountSample[], after: readonly CountSample[]): readonly CountSample[] {
  const earlier = new Map(before.map(({ name, counts }) => [name, counts]));
  return after.map(({ name, source, counts }) => ({
    name,
    source,
    counts: new Map([...counts].map(([cpu, count]) => [cpu, Math.max(0, count - (earlier.get(name)?.get(cpu) ?? 0))])),
  }));
}

function mostOn(samples: readonly CountSample[], cpus: CpuSet): readonly Counted[] {
  return samples
    .map(({ name, counts }) => ({ name, count: sumOn(counts, cpus) }))
    .filter(({ count }) => count > 0)
    .sort((a, b) => b.count - a.count);
}

function sumOn(byCpu: ReadonlyMap<number, number>, cpus: CpuSet): number {
  let sum = 0;
  for (const [cpu, count] of byCpu) if (cpus.has(cpu)) sum += count;
  return sum;
}

function sumStolen(
  { cpus }: ExclusiveOwner,
  own: readonly FollowedTask[],
  stealBefore: ReadonlyMap<number, number>,
  stealAfter: ReadonlyMap<number, number>,
): Stolen {
  const sum = { ranMs: 0, waitedMs: 0, preemptions: 0 };
  for (const { ranNs, waitedNs, preemptions } of own) {
    for (const ns of ranNs.values()) sum.ranMs += ns / 1e6;
    sum.waitedMs += waitedNs / 1e6;
    sum.preemptions += preemptions;
  }
  let stealMs = 0;
  for (const [cpu, ms] of stealAfter) if (cpus.has(cpu)) stealMs += Math.max(0, ms - (stealBefore.get(cpu) ?? ms));
  return { ...sum, stealMs };
}
