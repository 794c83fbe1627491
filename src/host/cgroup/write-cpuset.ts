import { dirname } from 'node:path';
import { CpuSet } from '../../core/cpuset';
import { UNCHANGED, type WriteOutcome } from './cgroup-file';
import { childrenOf } from './child-folders';
import { both, isList, writeFailureOf, type CpusetChange, type CpusetFiles, type ListName } from './cpuset-files';

/** A container that runs containers, or systemd, has cgroups of its own; more than this many are not gone through. */
const MAX_CHILDREN = 1000;

/** Gives a cgroup new CPUs, memory nodes or both; see writeTree for cgroups that have children. */
export function writeCpuset(cpusets: CpusetFiles, folder: string, { cpus, mems }: CpusetChange): WriteOutcome {
  const first = mems === undefined ? UNCHANGED : writeOne(cpusets, folder, 'mems', mems);
  if (first.kind !== 'ok' || cpus === undefined) return first;
  return both(first, writeOne(cpusets, folder, 'cpus', cpus));
}

function writeOne(cpusets: CpusetFiles, folder: string, name: ListName, list: CpuSet): WriteOutcome {
  const path = `${folder}/cpuset.${name}`;
  const before = cpusets.readList(path);
  if (!isList(before)) return writeFailureOf(before);
  const outcome = cpusets.writeList(path, list, before);
  // Version 2: a child without a value of its own follows, any other is cut to its parent by the kernel.
  if (cpusets.hierarchies.version === 2) return outcome;

  const inTime = (work: (budget: Budget) => WriteOutcome): WriteOutcome =>
    cpusets.treeTime.spend((isOver) => work({ folders: MAX_CHILDREN, isOver }));
  if (outcome.kind === 'refused' && outcome.errno === 'EBUSY')
    return inTime((budget) => writeTree(cpusets, folder, name, list, budget));
  if (outcome.kind === 'refused' && outcome.errno === 'EACCES')
    return explainParent(cpusets, folder, name, list, outcome);
  const grew = outcome.kind === 'ok' && outcome.changed && !list.isSubsetOf(before);
  return grew
    ? both(
        outcome,
        inTime((budget) => followParent(cpusets, folder, name, before, list, budget)),
      )
    : outcome;
}

/**
 * Moves a cgroup of version 1 and all below it. There the kernel insists, at every instant, that a child's list is
 * part of its parent's. So: the parent gets old and new, its children move, the parent gives up the old.
 */
function writeTree(cpusets: CpusetFiles, folder: string, name: ListName, list: CpuSet, budget: Budget): WriteOutcome {
  const path = `${folder}/cpuset.${name}`;
  const before = cpusets.readList(path);
  if (!isList(before)) return writeFailureOf(before);
  const during = before.union(list);
  const grown = cpusets.writeList(path, during, before);
  if (grown.kind !== 'ok') return grown;
  const followed = followParent(cpusets, folder, name, before, list, budget);
  if (followed.kind === 'refused') return followed;
  return both(grown, cpusets.writeList(path, list, during));
}

/**
 * Moves the children of a cgroup that goes from `before` to `list`. A child that had all its parent had still does;
 * another keeps what it may of its own, or gets all when nothing is left of that.
 */
function followParent(
  cpusets: CpusetFiles,
  folder: string,
  name: ListName,
  before: CpuSet,
  list: CpuSet,
  budget: Budget,
): WriteOutcome {
  let outcome: WriteOutcome = UNCHANGED;
  for (const child of childrenOf(folder)) {
    if (budget.folders-- <= 0) {
      const because = `${folder}: more than ${MAX_CHILDREN} cgroups are below the container, not all were moved`;
      return { kind: 'refused', errno: 'E2BIG', because };
    }
    if (budget.isOver()) {
      const because = `${folder}: the cgroups below the container are too many to be moved at once; the others follow in later rounds`;
      return { kind: 'refused', errno: 'ETIME', because };
    }
    const had = cpusets.readList(`${child}/cpuset.${name}`);
    if (!isList(had) || had.isEmpty) continue; // gone meanwhile, or not set up yet
    const kept = had.equals(before) ? list : had.intersect(list);
    if (kept.equals(had)) continue; // and so is all below it
    const moved = writeTree(cpusets, child, name, kept.isEmpty ? list : kept, budget);
    if (moved.kind === 'refused') return moved;
    if (moved.kind === 'ok') outcome = both(outcome, moved);
  }
  return outcome;
}

interface Budget {
  folders: number;
  readonly isOver: () => boolean;
}

/** Version 1 refuses what the parent does not have; after hotplug that can be a CPU that the kernel took out for good. */
function explainParent(
  cpusets: CpusetFiles,
  folder: string,
  name: ListName,
  list: CpuSet,
  refused: WriteOutcome & { readonly kind: 'refused' },
): WriteOutcome {
  const parent = dirname(folder);
  const allowed = cpusets.readList(`${parent}/cpuset.${name}`);
  if (!isList(allowed) || list.isSubsetOf(allowed)) return refused;
  return { ...refused, because: `${refused.because} (${parent} has "${allowed.toString()}" only)` };
}

/**
 * Adds CPUs to a cgroup and to those above it where they lack them, top down. Version 1 needs that before a container below
 * can get a CPU that was offline: the kernel took it out of every cpuset and does not return it. The root always has all
 * CPUs. On version 2 nothing is to be done: cgroups keep what they were given.
 */
export function widen(cpusets: CpusetFiles, folder: string, cpus: CpuSet): WriteOutcome {
  const { version, cpusetRoot } = cpusets.hierarchies;
  if (version === 2) return UNCHANGED;
  const has = cpusets.readList(`${folder}/cpuset.cpus`);
  if (isList(has) && cpus.isSubsetOf(has)) return UNCHANGED; // and so do those above: version 1 sees to that
  const folders: string[] = [];
  for (let at = folder; at.length > cpusetRoot.length; at = dirname(at)) folders.unshift(at);
  let outcome: WriteOutcome = UNCHANGED;
  for (const at of folders) {
    const path = `${at}/cpuset.cpus`;
    const before = cpusets.readList(path);
    if (!isList(before)) return writeFailureOf(before);
    outcome = both(outcome, cpusets.writeList(path, before.union(cpus), before));
    if (outcome.kind !== 'ok') return outcome;
  }
  return outcome;
}
