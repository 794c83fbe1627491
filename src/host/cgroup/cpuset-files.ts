import { CpuListError, CpuSet, parseCpuList } from '../../core/cpuset';
import {
  CHANGED,
  malformed,
  UNCHANGED,
  type CgroupFailure,
  type CgroupFiles,
  type Gone,
  type WriteOutcome,
} from './cgroup-file';
import type { Hierarchies } from './find-hierarchies';
import { InnerCpusets } from './inner-cpusets';
import { TreeTime } from './tree-time';

/** The CPUs of a cgroup, which the sweep reads: two small files. */
export type CpusReading =
  | {
      readonly kind: 'found';
      /** The configured CPUs. Empty on version 2: those of the parent. */
      readonly cpus: CpuSet;
      /** The CPUs that the kernel allows. */
      readonly effectiveCpus: CpuSet;
    }
  | Gone
  | CgroupFailure;

export type CpusetReading =
  | {
      readonly kind: 'found';
      readonly cpus: CpuSet;
      readonly effectiveCpus: CpuSet;
      readonly mems: CpuSet;
      readonly effectiveMems: CpuSet;
    }
  | Gone
  | CgroupFailure;

/** The lists to write; absent fields stay as they are. */
export interface CpusetChange {
  readonly cpus?: CpuSet;
  readonly mems?: CpuSet;
}

export type ListName = 'cpus' | 'mems';

const MAX_REMEMBERED = 1024;
/** Most readings when another process writes all the time. */
const ATTEMPTS = 3;

/** Reads and writes the cpuset files of cgroups, which are given by absolute paths. */
export class CpusetFiles {
  private readonly effectiveCpus: string;
  private readonly effectiveMems: string;
  /** Parsed lists by text: hundreds of containers have the same few values. */
  private readonly parsed = new Map<string, CpuSet>();

  constructor(
    readonly files: CgroupFiles,
    readonly hierarchies: Hierarchies,
    readonly treeTime = new TreeTime(),
    readonly inner = new InnerCpusets(),
  ) {
    const [cpus, mems] =
      hierarchies.version === 1 ? ['effective_cpus', 'effective_mems'] : ['cpus.effective', 'mems.effective'];
    this.effectiveCpus = `/cpuset.${cpus}`;
    this.effectiveMems = `/cpuset.${mems}`;
  }

  /** Reads both at one moment: a write between the two reads would look like a narrower parent. */
  readCpus(directory: string): CpusReading {
    const path = `${directory}/cpuset.cpus`;
    let cpus = this.readList(path);
    for (let attempt = 1; ; attempt++) {
      if ('kind' in cpus) return cpus;
      const effectiveCpus = this.readList(directory + this.effectiveCpus);
      if ('kind' in effectiveCpus) return effectiveCpus;
      const reading = { kind: 'found', cpus, effectiveCpus } as const;
      if (cpus.equals(effectiveCpus) || attempt === ATTEMPTS) return reading;
      const now = this.readList(path);
      if (isList(now) && now.equals(cpus)) return reading;
      cpus = now;
    }
  }

  /** The effective CPUs of any cgroup, the root of version 2 included. Undefined when they can't be read. */
  readEffective(directory: string): CpuSet | undefined {
    const cpus = this.readList(directory + this.effectiveCpus);
    return isList(cpus) ? cpus : undefined;
  }

  /** The same by the path of the cgroup, with the reason when they can't be read. */
  readEffectiveOf(cgroupPath: string): CpuSet | Gone | CgroupFailure {
    const directory = cgroupPath === '/' ? '' : cgroupPath;
    return this.readList(this.hierarchies.cpusetRoot + directory + this.effectiveCpus);
  }

  readAll(directory: string): CpusetReading {
    const reading = this.readCpus(directory);
    if (reading.kind !== 'found') return reading;
    const mems = this.readList(`${directory}/cpuset.mems`);
    if ('kind' in mems) return mems;
    const effectiveMems = this.readList(directory + this.effectiveMems);
    if ('kind' in effectiveMems) return effectiveMems;
    const { kind, cpus, effectiveCpus } = reading;
    return { kind, cpus, effectiveCpus, mems, effectiveMems };
  }

  readList(path: string): CpuSet | Gone | CgroupFailure {
    const text = this.files.read(path);
    if (typeof text !== 'string') return text;
    const known = this.parsed.get(text);
    if (known !== undefined) return known;
    try {
      const list = parseCpuList(text);
      if (this.parsed.size >= MAX_REMEMBERED) this.parsed.clear();
      this.parsed.set(text, list);
      return list;
    } catch (error) {
      if (!(error instanceof CpuListError)) throw error;
      return malformed(path, text, 'a list like 0-3,8 is expected');
    }
  }

  /**
   * Writes a list unless it is there already. The empty list is refused: it would mean "no limit" or strand tasks.
   *
   * Version 1 refuses a CPU that has come online until a worker of the kernel has added it to the root cpuset. Each
   * write first waits for that worker, so a second write succeeds (Linux 6.1, cpuset_write_resmask).
   */
  writeList(path: string, list: CpuSet, before: CpuSet): WriteOutcome {
    if (list.isEmpty) return { kind: 'refused', errno: 'EINVAL', because: `${path}: an empty list is never written` };
    if (before.equals(list)) return UNCHANGED;
    const outcome = this.files.write(path, list.toString());
    const mayBeEarly = this.hierarchies.version === 1 && outcome.kind === 'refused' && outcome.errno === 'EACCES';
    return mayBeEarly ? this.files.write(path, list.toString()) : outcome;
  }
}

/** True when the file could be read. */
export function isList(value: CpuSet | Gone | CgroupFailure): value is CpuSet {
  return value instanceof CpuSet;
}

/** Two writes as one: the first failure, else changed if either was. */
export function both(first: WriteOutcome, second: WriteOutcome): WriteOutcome {
  if (first.kind !== 'ok') return first;
  if (second.kind !== 'ok') return second;
  return first.changed || second.changed ? CHANGED : UNCHANGED;
}

/** The outcome of a write whose file could not be read first. */
export function writeFailureOf(failure: Gone | CgroupFailure): WriteOutcome {
  return failure.kind === 'gone' ? failure : { ...failure, kind: 'refused' };
}
