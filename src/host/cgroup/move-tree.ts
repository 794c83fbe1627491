import type { CpuSet } from '../../core/cpuset';
import { listChildren, UNCHANGED, type WriteOutcome } from './cgroup-file';
import { both, isList, writeFailureOf, type CpusetFiles, type ListName } from './cpuset-files';

/** Most cgroups below a container that are moved at once. Containers that run systemd or containers have some. */
const MAX_CHILDREN = 1000;

/** One move of a container of version 1, with all cgroups in it. */
export interface TreeMove {
  readonly cpusets: CpusetFiles;
  readonly name: ListName;
  readonly container: string;
  readonly budget: Budget;
}

/**
 * Limits one move of a container, of which later ones are the continuation: what is in place already counts only for
 * its time.
 */
interface Budget {
  moves: number;
  /** Children that may be read after that. */
  looks: number;
  readonly isOver: () => boolean;
}

/** Begins a move of all cgroups of this container; `isOver` returns true when the time for it is used up. */
export function startMove(cpusets: CpusetFiles, container: string, name: ListName, isOver: () => boolean): TreeMove {
  return { cpusets, name, container, budget: { moves: MAX_CHILDREN, looks: MAX_CHILDREN, isOver } };
}

/**
 * Moves a cgroup of version 1 and all below it. There the kernel insists, at every instant, that a child's list is
 * part of its parent's. So: the parent gets old and new, its children move, the parent gives up the old.
 */
export function moveTree(move: TreeMove, directory: string, list: CpuSet): WriteOutcome {
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
 * Moves the children of a cgroup that goes from `before` to `list`. A child with all CPUs of its parent keeps all of
 * them. Another has a list of its own, and gets what remains of that, or all when none remains; it has its own again as
 * soon as its parent has.
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
    // A list that is its own, and less than its parent has, shows that by itself, as soon as all children have
    // followed.
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

/**
 * Remembers those of the children left over whose own list is the new one of their parent: a child that was moved would
 * look the same.
 */
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

function refuseMore(errno: string, directory: string): WriteOutcome {
  const why = errno === 'E2BIG' ? `more than ${MAX_CHILDREN}` : 'too many to be moved at once';
  return {
    kind: 'refused',
    errno,
    because: `${directory}: the cgroups below the container are ${why}; the others follow in later rounds`,
  };
}
