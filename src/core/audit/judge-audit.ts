import type { CpuSet } from '../cpuset';
import type { AuditSample, CountSample, ExclusiveOwner, IrqSample, TaskSample } from './sample';

/** Threads of one program that may run on CPUs that are not theirs. */
export interface ForeignTask {
  readonly pid: number;
  readonly name: string;
  /** `bound`: a thread of the kernel for one CPU, which nobody can move. */
  readonly kind: 'process' | 'kernel' | 'bound';
  readonly threads: number;
  /** The CPUs of the owner that they may use. */
  readonly cpus: CpuSet;
  /** Some of them were seen on these CPUs, and ran meanwhile. */
  readonly ran: boolean;
  /** Time that those ran, in ms; perhaps in part on other CPUs that they may use. */
  readonly ranMs: number;
}

/** An interrupt that is sent to CPUs of an owner, or may be. */
export interface ForeignIrq {
  readonly irq: number;
  readonly source: string;
  readonly cpus: CpuSet;
  /** It is really sent to them, as far as the kernel tells. */
  readonly isEffective: boolean;
  /** Times that they handled it meanwhile. */
  readonly count: number;
}

/** What happened on the CPUs of one owner between two samples. */
export interface OwnerAudit {
  readonly owner: ExclusiveOwner;
  /** Those that ran first, by the time; then by their names. */
  readonly foreign: readonly ForeignTask[];
  readonly irqs: readonly ForeignIrq[];
  /** Softirqs and the kernel's own interrupts that were handled on them, most first. */
  readonly softirqs: readonly { readonly name: string; readonly count: number }[];
  readonly stolen: Stolen;
}

/** Time that the owner's threads did not get. */
export interface Stolen {
  /** Time on a CPU, and ready without one, of all its threads, in ms. The wait is for foreign threads, and for threads of its own. */
  readonly ranMs: number;
  readonly waitedMs: number;
  /** Times that a thread of it had to make room. */
  readonly preemptions: number;
  /** Time that the hypervisor took, in ms. */
  readonly stealMs: number;
}

/** Compares two samples. Pure. */
export function judgeAudit(
  owners: readonly ExclusiveOwner[],
  before: AuditSample,
  after: AuditSample,
): readonly OwnerAudit[] {
  const earlier = new Map(before.tasks.map((task) => [task.tid, task]));
  const more = (name: 'interrupts' | 'softirqs') => countMore(before[name], after[name]);
  const [interrupts, softirqs] = [more('interrupts'), more('softirqs')];
  return owners.map((owner) => {
    const own = new Set(owner.containerIds);
    const isOwn = ({ containerId }: TaskSample): boolean => containerId !== undefined && own.has(containerId);
    const others = after.tasks.filter((task) => !isOwn(task) && task.allowed.overlaps(owner.cpus));
    return {
      owner,
      foreign: groupForeign(owner, others, earlier),
      irqs: after.irqs.flatMap((irq) => describeIrq(owner, irq, interrupts)),
      softirqs: softirqs
        .map(({ name, counts }) => ({ name, count: countOn(counts, owner.cpus) }))
        .filter(({ count }) => count > 0)
        .sort((a, b) => b.count - a.count),
      stolen: sumStolen(owner, after.tasks.filter(isOwn), earlier, before.stealMs, after.stealMs),
    };
  });
}

function groupForeign(
  { cpus }: ExclusiveOwner,
  tasks: readonly TaskSample[],
  earlier: ReadonlyMap<number, TaskSample>,
): readonly ForeignTask[] {
  const groups = new Map<string, ForeignTask>();
  for (const task of tasks) {
    const { pid, name, allowed, lastCpu } = task;
    const kind = !task.isKernelThread ? 'process' : allowed.size === 1 ? 'bound' : 'kernel';
    const ranNs = task.runNs - (earlierOf(task, earlier)?.runNs ?? 0);
    const ran = ranNs > 0 && cpus.has(lastCpu);
    const key = `${pid}/${kind}`;
    const group = groups.get(key);
    groups.set(key, {
      pid,
      name: group?.name ?? name,
      kind,
      threads: (group?.threads ?? 0) + 1,
      cpus: (group?.cpus ?? allowed.intersect(cpus)).union(allowed.intersect(cpus)),
      ran: ran || (group?.ran ?? false),
      ranMs: (group?.ranMs ?? 0) + (ran ? ranNs / 1e6 : 0),
    });
  }
  return [...groups.values()].sort((a, b) => b.ranMs - a.ranMs || (a.name < b.name ? -1 : 1));
}

/** The same thread in the earlier sample; another one that had its number before is none. */
function earlierOf(task: TaskSample, earlier: ReadonlyMap<number, TaskSample>): TaskSample | undefined {
  const found = earlier.get(task.tid);
  return found && found.pid === task.pid && found.runNs <= task.runNs ? found : undefined;
}

function describeIrq(
  { cpus }: ExclusiveOwner,
  { irq, allowed, effective }: IrqSample,
  interrupts: readonly CountSample[],
): readonly ForeignIrq[] {
  const counted = interrupts.find(({ name }) => name === String(irq));
  const count = counted ? countOn(counted.counts, cpus) : 0;
  const meant = allowed.intersect(cpus);
  if (meant.isEmpty && count === 0) return [];
  const isEffective = effective ? effective.overlaps(cpus) : !meant.isEmpty;
  return [{ irq, source: counted?.source ?? '', cpus: meant, isEffective, count }];
}

function countMore(before: readonly CountSample[], after: readonly CountSample[]): readonly CountSample[] {
  const earlier = new Map(before.map(({ name, counts }) => [name, counts]));
  return after.map(({ name, source, counts }) => ({
    name,
    source,
    counts: new Map([...counts].map(([cpu, count]) => [cpu, Math.max(0, count - (earlier.get(name)?.get(cpu) ?? 0))])),
  }));
}

function countOn(counts: ReadonlyMap<number, number>, cpus: CpuSet): number {
  let sum = 0;
  for (const [cpu, count] of counts) if (cpus.has(cpu)) sum += count;
  return sum;
}

function sumStolen(
  { cpus }: ExclusiveOwner,
  own: readonly TaskSample[],
  earlier: ReadonlyMap<number, TaskSample>,
  stealBefore: ReadonlyMap<number, number>,
  stealAfter: ReadonlyMap<number, number>,
): Stolen {
  const sum = { ranMs: 0, waitedMs: 0, preemptions: 0 };
  for (const task of own) {
    const then = earlierOf(task, earlier);
    sum.ranMs += (task.runNs - (then?.runNs ?? 0)) / 1e6;
    sum.waitedMs += (task.waitNs - (then?.waitNs ?? 0)) / 1e6;
    sum.preemptions += task.preemptions - (then?.preemptions ?? 0);
  }
  let stealMs = 0;
  for (const [cpu, ms] of stealAfter) if (cpus.has(cpu)) stealMs += Math.max(0, ms - (stealBefore.get(cpu) ?? 0));
  return { ...sum, stealMs };
}
