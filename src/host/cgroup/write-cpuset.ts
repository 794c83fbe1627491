import { dirname } from 'node:path';
import type { CpuSet } from '../../core/cpuset';
import { listChildren, UNCHANGED, type WriteOutcome } from './cgroup-file';
import { both, isList, writeFailureOf, type CpusetChange, type CpusetFiles, type ListName } from './cpuset-files';
import { moveTree, startMove } from './move-tree';

/** Gives a cgroup new CPUs, memory nodes or both; see moveTree for cgroups that have children. */
export function writeCpuset(cpusets: CpusetFiles, directory: string, { cpus, mems }: CpusetChange): WriteOutcome {
  const first = mems === undefined ? UNCHANGED : writeOne(cpusets, directory, 'mems', mems);
  if (first.kind !== 'ok' || cpus === undefined) return first;
  return both(first, writeOne(cpusets, directory, 'cpus', cpus));
}

function writeOne(cpusets: CpusetFiles, directory: string, name: ListName, list: CpuSet): WriteOutcome {
  const path = `${directory}/cpuset.${name}`;
  const before = cpusets.readList(path);
  if (!isList(before)) return writeFailureOf(before);
  // Version 2: a child without a value of its own follows, any other is cut to its parent by the kernel.
  const isDone = before.equals(list) && !cpusets.inner.isUnfinished(path);
  if (cpusets.hierarchies.version === 2 || isDone) return cpusets.writeList(path, list, before);

  const withChildren = (): WriteOutcome =>
    cpusets.treeTime.spend((isOver) => moveTree(startMove(cpusets, directory, name, isOver), directory, list));
  const outcome = listChildren(directory).length > 0 ? withChildren() : cpusets.writeList(path, list, before);
  if (outcome.kind !== 'refused') return outcome;
  if (outcome.errno === 'EBUSY') return withChildren(); // a child was made meanwhile
  return outcome.errno === 'EACCES' ? explainParent(cpusets, directory, name, list, outcome) : outcome;
}

/** Version 1 refuses CPUs that the parent lacks; after hotplug that can be a CPU that the kernel removed for good. */
function explainParent(
  cpusets: CpusetFiles,
  directory: string,
  name: ListName,
  list: CpuSet,
  refused: WriteOutcome & { readonly kind: 'refused' },
): WriteOutcome {
  const parent = dirname(directory);
  const allowed = cpusets.readList(`${parent}/cpuset.${name}`);
  if (!isList(allowed) || list.isSubsetOf(allowed)) return refused;
  return { ...refused, because: `${refused.because} (${parent} has "${allowed.toString()}" only)` };
}
