import type { CpuSet } from '../../core/cpuset';

/**
 * The list of a cgroup inside a container: the one that it had of its own, and the one that it was given with its
 * container.
 */
export interface InnerList {
  /** The container's cgroup, and the file of the inner one; absolute. */
  readonly container: string;
  readonly file: string;
  readonly own: CpuSet;
  readonly given: CpuSet;
}

/** A move of a cgroup and of all below it that could not be finished. */
interface Unfinished {
  readonly container: string;
  /** The list that the cgroup has meanwhile. */
  readonly during: CpuSet;
  /** The lists that it came from and went to, since its children were last moved all together. */
  readonly lists: readonly CpuSet[];
}

/** Most inner cgroups with lists of their own that are remembered of one container: it may make any number of them. */
const MAX_OF_CONTAINER = 256;
/** Most lists of unfinished moves that are remembered of one cgroup. */
const MAX_LISTS = 16;

/**
 * Remembers the cpusets that cgroups inside of containers have of their own, while they have less because their
 * container has less: on version 1 the kernel keeps one list of each cgroup, and on version 2 two. An entry is there
 * only as long as a cgroup lacks something, or can't be distinguished from one without a list of its own.
 */
export class InnerCpusets {
  private readonly byFile = new Map<string, InnerList>();
  private readonly counts = new Map<string, number>();
  private readonly unfinished = new Map<string, Unfinished>();
  private changes = 0;

  /** Goes up with every change. */
  get revision(): number {
    return this.changes;
  }

  get lists(): readonly InnerList[] {
    return [...this.byFile.values()];
  }

  /** True when there is nothing to be forgotten. */
  get isEmpty(): boolean {
    return this.byFile.size === 0 && this.unfinished.size === 0;
  }

  /**
   * The list that the cgroup has of its own, if it has been given this one since; another writer's list is the cgroup's
   * own.
   */
  ownOf(file: string, now: CpuSet): CpuSet | undefined {
    const known = this.byFile.get(file);
    return known && (known.given.equals(now) || this.isBetween(file, now)) ? known.own : undefined;
  }

  remember(list: InnerList): void {
    const { file, container } = list;
    const known = this.byFile.get(file);
    if (known?.own.equals(list.own) && known.given.equals(list.given)) return;
    const count = this.counts.get(container) ?? 0;
    if (!known && count >= MAX_OF_CONTAINER) return;
    if (!known) this.counts.set(container, count + 1);
    this.byFile.set(file, list);
    this.changes++;
  }

  forget(file: string): void {
    const known = this.byFile.get(file);
    if (!known) return;
    this.byFile.delete(file);
    const count = this.counts.get(known.container)! - 1;
    if (count === 0) this.counts.delete(known.container);
    else this.counts.set(known.container, count);
    this.changes++;
  }

  /** Notes that some children of a cgroup went from `before` to `list`, and others not yet. */
  noteUnfinished(file: string, container: string, before: CpuSet, list: CpuSet): void {
    const known = this.unfinished.get(file);
    if (
      !known &&
      [...this.unfinished.values()].filter((each) => each.container === container).length >= MAX_OF_CONTAINER
    )
      return;
    const earlier = (known?.lists ?? []).filter((each) => !each.equals(before) && !each.equals(list));
    const lists = [...earlier, before, list].slice(-MAX_LISTS);
    this.unfinished.set(file, { container, during: before.union(list), lists });
  }

  /** Notes that all children of a cgroup followed it. */
  noteFinished(file: string): void {
    this.unfinished.delete(file);
  }

  /** True when some cgroups below this one have not followed it yet. */
  isUnfinished(file: string): boolean {
    return this.unfinished.has(file);
  }

  /** True when the cgroup has this list only until its move is finished. */
  isBetween(file: string, now: CpuSet): boolean {
    return this.unfinished.get(file)?.during.equals(now) === true;
  }

  /** True when a child with this list had all that its parent had, before a move that was not finished. */
  hadAllBefore(parentFile: string, list: CpuSet): boolean {
    return this.unfinished.get(parentFile)?.lists.some((each) => each.equals(list)) === true;
  }

  /** Forgets cgroups that are gone, and with them those of containers that are gone. */
  keepOnly(isThere: (file: string) => boolean): void {
    for (const file of this.byFile.keys()) if (!isThere(file)) this.forget(file);
    for (const file of this.unfinished.keys()) if (!isThere(file)) this.unfinished.delete(file);
  }
}
