import { dirname } from 'node:path';
import type { CpuSet } from '../../core/cpuset';
import { isPodCgroup } from '../../core/inference/kubepods';
import { listChildren, UNCHANGED, type WriteOutcome } from './cgroup-file';
import { both, isList, writeFailureOf, type CpusetFiles } from './cpuset-files';

/** Cgroups that get CPUs back: first `top`, then `below`, then those of pods that are right below any of these. */
export interface Tree {
  readonly top: string;
  readonly below: readonly string[];
}

/**
 * Adds CPUs to a tree of cgroups, from the top down, as far as the cgroup above has them. Version 1 needs that before a
 * container below can get a CPU that was offline: the kernel removed it from every cpuset and does not return it.
 * `gone` when there is no such tree. One that can't be written keeps them from none beside it, and is the result. On
 * version 2 cgroups keep their configured CPUs, and nothing is written.
 */
export function widen(cpusets: CpusetFiles, { top, below }: Tree, cpus: CpuSet): WriteOutcome {
  if (cpusets.hierarchies.version === 2) return UNCHANGED;
  const above = cpusets.readList(`${dirname(top)}/cpuset.cpus`);
  if (!isList(above)) return writeFailureOf(above);
  const added = cpus.intersect(above);
  const first = addCpus(cpusets, top, added, true);
  if (first.kind !== 'ok') return first;
  const pods = [top, ...below].flatMap((parent) => listChildren(parent).filter(isPodCgroup));
  let [outcome, refused]: [WriteOutcome, WriteOutcome | undefined] = [first, undefined];
  for (const directory of [...below, ...pods]) {
    const written = addCpus(cpusets, directory, added);
    if (written.kind === 'refused') refused ??= written;
    if (written.kind === 'ok') outcome = both(outcome, written); // else it was removed meanwhile
  }
  return refused ?? outcome;
}

/**
 * A cgroup below without any CPUs gets what its parent has, as a runtime gives it to a new one: these CPUs alone would
 * stay all it has.
 */
function addCpus(cpusets: CpusetFiles, directory: string, cpus: CpuSet, isTop = false): WriteOutcome {
  const path = `${directory}/cpuset.cpus`;
  const before = cpusets.readList(path);
  if (!isList(before)) return writeFailureOf(before);
  const isNew = before.isEmpty && !isTop;
  const given = isNew ? cpusets.readList(`${dirname(directory)}/cpuset.cpus`) : before.union(cpus);
  return isList(given) ? cpusets.writeList(path, given, before) : writeFailureOf(given);
}
