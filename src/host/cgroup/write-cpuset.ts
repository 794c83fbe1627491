import { dirname } from 'node:path';
import { CpuSet } from '../../core/cpuset';
import { CHANGED, listChildren, UNCHANGED, type CgroupFiles, type WriteOutcome } from './cgroup-file';
import { both, isList, writeFailureOf, type CpusetChange, type CpusetFiles, type ListName } from './cpuset-files';
import type { Hierarchies } from './find-hierarchies';
import type { CgroupPlace } from './locate-container';

/** Most cgroups below a container that are moved with it. Containers that run systemd or containers have some. */
const MAX_CHILDREN = 1000;

/** Gives a cgroup new CPUs, memory nodes or both; see writeTree for cgroups that have children. */
export function writeCpuset(cpusets: CpusetFiles, directory: string, { cpus, mems }: CpusetChange): WriteOutcome {
  const first = mems === undefined ? UNCHANGED : writeOne(cpusets, directory, 'mems', mems);
  if (first.kind !== 'ok' || cpus === undefined) return first;
  return both(first, writeOne(cpusets, directory, 'cpus', cpus));
}

function writeOne(cpusets: CpusetFiles, directory: string, name: ListName, list: CpuSet): WriteOutcome {
  const path = `${directory}/cpuset.${name}`;
  const before = cpusets.readList(path);
  if (!isList(before)) return writeFailureOf(before);
  const outcome = cpusets.writeList(path, list, before);
  // Version 2: a child without a value of its own follows, any other is cut to its parent by the kernel.
  if (cpusets.hierarchies.version === 2) return outcome;

  const inTime = (work: (budget: Budget) => WriteOutcome): WriteOutcome =>
    cpusets.treeTime.spend((isOver) => work({ directories: MAX_CHILDREN, isOver }));
  if (outcome.kind === 'refused' && outcome.errno === 'EBUSY')
    return inTime((budget) => writeTree(cpusets, directory, name, list, budget));
  if (outcome.kind === 'refused' && outcome.errno === 'EACCES')
    return explainParent(cpusets, directory, name, list, outcome);
  const grew = outcome.kind === 'ok' && outcome.changed && !list.isSubsetOf(before);
  return grew
    ? both(
        outcome,
        inTime((budget) => followParent(cpusets, directory, name, before, list, budget)),
      )
    : outcome;
}

/**
 * Moves a cgroup of version 1 and all below it. There the kernel insists, at every instant, that a child's list is
 * part of its parent's. So: the parent gets old and new, its children move, the parent gives up the old.
 */
function writeTree(
  cpusets: CpusetFiles,
  directory: string,
  name: ListName,
  list: CpuSet,
  budget: Budget,
): WriteOutcome {
  const path = `${directory}/cpuset.${name}`;
  const before = cpusets.readList(path);
  if (!isList(before)) return writeFailureOf(before);
  const during = before.union(list);
  const grown = cpusets.writeList(path, during, before);
  if (grown.kind !== 'ok') return grown;
  const followed = followParent(cpusets, directory, name, before, list, budget);
  if (followed.kind === 'refused') return followed;
  return both(grown, cpusets.writeList(path, list, during));
}

/**
 * Moves the children of a cgroup that goes from `before` to `list`. A child with all CPUs of its parent keeps all of them;
 * another keeps those of its own that remain, or gets all when none remains.
 */
function followParent(
  cpusets: CpusetFiles,
  directory: string,
  name: ListName,
  before: CpuSet,
  list: CpuSet,
  budget: Budget,
): WriteOutcome {
  let outcome: WriteOutcome = UNCHANGED;
  for (const child of listChildren(directory)) {
    if (budget.directories-- <= 0) {
      const because = `${directory}: more than ${MAX_CHILDREN} cgroups are below the container, not all were moved`;
      return { kind: 'refused', errno: 'E2BIG', because };
    }
    if (budget.isOver()) {
      const because = `${directory}: the cgroups below the container are too many to be moved at once; the others follow in later rounds`;
      return { kind: 'refused', errno: 'ETIME', because };
    }
    const had = cpusets.readList(`${child}/cpuset.${name}`);
    if (!isList(had) || had.isEmpty) continue; // removed meanwhile, or not set up yet
    const kept = had.equals(before) ? list : had.intersect(list);
    if (kept.equals(had)) continue; // and so are all below it
    const moved = writeTree(cpusets, child, name, kept.isEmpty ? list : kept, budget);
    if (moved.kind === 'refused') return moved;
    if (moved.kind === 'ok') outcome = both(outcome, moved);
  }
  return outcome;
}

interface Budget {
  directories: number;
  readonly isOver: () => boolean;
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

/**
 * Adds CPUs to a cgroup and to those above it that lack them, top down. Version 1 needs that before a container below can get a
 * CPU that was offline: the kernel removed it from every cpuset and does not return it. The root always has all CPUs. On
 * version 2 cgroups keep their configured CPUs, and nothing is written.
 */
export function widen(cpusets: CpusetFiles, directory: string, cpus: CpuSet): WriteOutcome {
  const { version, cpusetRoot } = cpusets.hierarchies;
  if (version === 2) return UNCHANGED;
  const has = cpusets.readList(`${directory}/cpuset.cpus`);
  if (isList(has) && cpus.isSubsetOf(has)) return UNCHANGED; // and so do its parents, on version 1
  const directories: string[] = [];
  for (let at = directory; at.length > cpusetRoot.length; at = dirname(at)) directories.unshift(at);
  let outcome: WriteOutcome = UNCHANGED;
  for (const at of directories) {
    const path = `${at}/cpuset.cpus`;
    const before = cpusets.readList(path);
    if (!isList(before)) return writeFailureOf(before);
    outcome = both(outcome, cpusets.writeList(path, before.union(cpus), before));
    if (outcome.kind !== 'ok') return outcome;
  }
  return outcome;
}

const MAX_PROCS_BYTES = 1024 * 1024;

/**
 * Moves a container's processes back into its cpuset cgroup, on version 1. When the last CPU of a cpuset goes offline, the kernel
 * moves its processes to the parent for good; the other hierarchies still show where they belong. The cpuset must have CPUs again.
 * On version 2 nothing moves.
 */
export function reclaimTasks(
  files: CgroupFiles,
  { version, cpusetRoot, cpuRoot }: Hierarchies,
  { path: cgroupPath, cpuPath }: CgroupPlace,
): WriteOutcome {
  if (version === 2 || cpuRoot === undefined) return UNCHANGED;
  const path = `${cpusetRoot}${cgroupPath}/cgroup.procs`;
  const present = files.readLines(path, MAX_PROCS_BYTES);
  if ('kind' in present) return writeFailureOf(present);
  if (present.lines.length > 0) return UNCHANGED; // the kernel moves all or none
  const strayed = files.readLines(`${cpuRoot}${cpuPath}/cgroup.procs`, MAX_PROCS_BYTES);
  if ('kind' in strayed) return writeFailureOf(strayed);
  let outcome: WriteOutcome = UNCHANGED;
  for (const pid of strayed.lines) {
    const moved = files.write(path, pid);
    if (moved.kind === 'ok') outcome = CHANGED;
    else if (moved.kind === 'gone' || moved.errno !== 'ESRCH') return moved; // ESRCH: it has ended
  }
  return outcome;
}
