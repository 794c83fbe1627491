import { dirname } from 'node:path';
import { CpuSet } from '../../core/cpuset';
import { isPodCgroup } from '../../core/inference/kubepods';
import { CHANGED, listChildren, UNCHANGED, type CgroupFiles, type WriteOutcome } from './cgroup-file';
import { both, isList, writeFailureOf, type CpusetChange, type CpusetFiles, type ListName } from './cpuset-files';
import type { Hierarchies } from './find-hierarchies';
import type { CgroupPlace } from './locate-container';

/** Most cgroups below a container that are moved at once. Containers that run systemd or containers have some. */
const MAX_CHILDREN = 1000;

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
    cpusets.treeTime.spend((isOver) =>
      moveTree(
        { cpusets, name, container: directory, budget: { moves: MAX_CHILDREN, looks: MAX_CHILDREN, isOver } },
        directory,
        list,
      ),
    );
  const outcome = listChildren(directory).length > 0 ? withChildren() : cpusets.writeList(path, list, before);
  if (outcome.kind !== 'refused') return outcome;
  if (outcome.errno === 'EBUSY') return withChildren(); // a child was made meanwhile
  return outcome.errno === 'EACCES' ? explainParent(cpusets, directory, name, list, outcome) : outcome;
}

/** One move of a container of version 1, with all cgroups in it. */
interface TreeMove {
  readonly cpusets: CpusetFiles;
  readonly name: ListName;
  readonly container: string;
  readonly budget: Budget;
}

/**
 * Moves a cgroup of version 1 and all below it. There the kernel insists, at every instant, that a child's list is
 * part of its parent's. So: the parent gets old and new, its children move, the parent gives up the old.
 */
function moveTree(move: TreeMove, directory: string, list: CpuSet): WriteOutcome {
  const { cpusets, name, container } = move;
  const path = `${directory}/cpuset.${name}`;
  const before = cpusets.readList(path);
  if (!isList(before)) return writeFailureOf(before);
  const during = before.union(list);
  const grown = cpusets.writeList(path, during, before);
  if (grown.kind !== 'ok') return grown;
  const followed = followParent(move, directory, before, list);
  if (followed.kind === 'refused') {
    cpusets.inner.noteUnfinished(path, container, before, list);
    return followed;
  }
  cpusets.inner.noteFinished(path);
  return both(grown, cpusets.writeList(path, list, during));
}

/**
 * Moves the children of a cgroup that goes from `before` to `list`. A child with all CPUs of its parent keeps all of them. Another has a
 * list of its own, and gets what remains of that, or all when none remains; it has its own again as soon as its parent has.
 */
function followParent(move: TreeMove, directory: string, before: CpuSet, list: CpuSet): WriteOutcome {
  const { cpusets, name, container, budget } = move;
  const { inner } = cpusets;
  const parentFile = `${directory}/cpuset.${name}`;
  let outcome: WriteOutcome = UNCHANGED;
  const children = listChildren(directory);
  const plain: string[] = [];
  for (const [i, child] of children.entries()) {
    if (budget.isOver()) {
      noteLookalikes(move, parentFile, children.slice(i), before, list);
      return refuseMore('ETIME', directory);
    }
    const file = `${child}/cpuset.${name}`;
    const had = cpusets.readList(file);
    if (!isList(had) || had.isEmpty) continue; // removed meanwhile, or not set up yet
    const remembered = inner.ownOf(file, had);
    const hasAll =
      remembered === undefined &&
      (had.equals(before) || inner.hadAllBefore(parentFile, had) || inner.isBetween(file, had));
    const own = hasAll ? list : (remembered ?? had);
    const kept = own.intersect(list);
    const given = kept.isEmpty ? list : kept;
    const entry = { container, file, own, given };
    // A list that is its own, and less than its parent has, shows that by itself, as soon as all children have followed.
    const isPlain = given.equals(own) && !given.equals(list);
    if (hasAll) inner.forget(file);
    else if (isPlain) plain.push(file);
    if (!hasAll && (!isPlain || remembered)) inner.remember(entry);
    if (!given.equals(had) || inner.isUnfinished(file)) {
      const moved = budget.moves-- > 0 ? moveTree(move, child, given) : refuseMore('E2BIG', directory);
      if (moved.kind === 'refused') {
        if (!hasAll) inner.remember(entry);
        noteLookalikes(move, parentFile, children.slice(i + 1), before, list);
        return moved;
      }
      if (moved.kind === 'ok') outcome = both(outcome, moved);
    }
  }
  for (const file of plain) inner.forget(file);
  return outcome;
}

/** Remembers those of the children left over whose own list is the new one of their parent: a child that was moved would look the same. */
function noteLookalikes(
  { cpusets, name, container, budget }: TreeMove,
  parentFile: string,
  children: readonly string[],
  before: CpuSet,
  list: CpuSet,
): void {
  const { inner } = cpusets;
  if (list.equals(before)) return;
  for (const child of children) {
    if (budget.looks-- <= 0) return;
    const file = `${child}/cpuset.${name}`;
    const own = cpusets.readList(file);
    if (!isList(own) || !own.equals(list) || inner.hadAllBefore(parentFile, own)) continue;
    if (inner.ownOf(file, own) === undefined) inner.remember({ container, file, own, given: own });
  }
}

/** Limits one move of a container, of which later ones are the continuation: what is in place already counts only for its time. */
interface Budget {
  moves: number;
  /** Children that may be read after that. */
  looks: number;
  readonly isOver: () => boolean;
}

function refuseMore(errno: string, directory: string): WriteOutcome {
  const why = errno === 'E2BIG' ? `more than ${MAX_CHILDREN}` : 'too many to be moved at once';
  return {
    kind: 'refused',
    errno,
    because: `${directory}: the cgroups below the container are ${why}; the others follow in later rounds`,
  };
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

/** Cgroups that get CPUs back: first `top`, then `below`, then those of pods that are right below any of these. */
export interface Tree {
  readonly top: string;
  readonly below: readonly string[];
}

/**
 * Adds CPUs to a tree of cgroups, from the top down, as far as the cgroup above has them. Version 1 needs that before a container below
 * can get a CPU that was offline: the kernel removed it from every cpuset and does not return it. `gone` when there is no such tree. One
 * that can't be written keeps them from none beside it, and is the result. On version 2 cgroups keep their configured CPUs, and nothing is
 * written.
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

/** A cgroup below without any CPUs gets what its parent has, as a runtime gives it to a new one: these CPUs alone would stay all it has. */
function addCpus(cpusets: CpusetFiles, directory: string, cpus: CpuSet, isTop = false): WriteOutcome {
  const path = `${directory}/cpuset.cpus`;
  const before = cpusets.readList(path);
  if (!isList(before)) return writeFailureOf(before);
  const isNew = before.isEmpty && !isTop;
  const given = isNew ? cpusets.readList(`${dirname(directory)}/cpuset.cpus`) : before.union(cpus);
  return isList(given) ? cpusets.writeList(path, given, before) : writeFailureOf(given);
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
