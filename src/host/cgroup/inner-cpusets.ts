import type { CpuSet } from '../../core/cpuset';

/** The list of a cgroup inside a container: the one that it had of its own, and the one that it was given with its container. */
export interface InnerList {
  /** The container's cgroup, and the file of the inner one; absolute. */
  readonly container: string;
  readonly file: string;
  readonly own: CpuSet;
  readonly given: CpuSet;
}

/** A move of a cgroup's children that could not be finished. */
interface Unfinished {
  readonly container: string;
  readonly before: CpuSet;
  readonly list: CpuSet;
}

/** Most inner cgroups with lists of their own that are remembered of one container: it may make any number of them. */
const MAX_OF_CONTAINER = 256;

/**
 * Remembers the cpusets that cgroups inside of containers have of their own, while they have less because their container has less: on
 * version 1 the kernel keeps one list of each cgroup, and on version 2 two. An entry is there only as long as a cgroup lacks something, or
 * can't be told from one without a list of its own.
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

  /** The list that the cgroup has of its own, if it has been given this one since; another writer's list is the cgroup's own. */
  ownOf(file: string, now: CpuSet): CpuSet | undefined {
    const known = this.byFile.get(file);
    return known?.given.equals(now) === true ? known.own : undefined;
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
    this.counts.set(known.container, this.counts.get(known.container)! - 1);
    this.changes++;
  }

  /** Notes that some children of a cgroup went from `before` to `list`, and others not yet; undefined: all have. */
  noteUnfinished(file: string, unfinished: Unfinished | undefined): void {
    if (unfinished === undefined) this.unfinished.delete(file);
    else this.unfinished.set(file, unfinished);
  }

  /** True when a child with this list had all that its parent had, before a move that was not finished. */
  hadAllBefore(parentFile: string, list: CpuSet): boolean {
    const unfinished = this.unfinished.get(parentFile);
    return unfinished !== undefined && (unfinished.before.equals(list) || unfinished.list.equals(list));
  }

  /** Forgets containers that are gone. */
  keepOnly(isThere: (container: string) => boolean): void {
    const gone = new Set([...this.byFile.values()].flatMap(({ container: at }) => (isThere(at) ? [] : [at])));
    for (const { file, container } of this.lists) if (gone.has(container)) this.forget(file);
    for (const container of gone) this.counts.delete(container);
    for (const [file, { container }] of this.unfinished) if (!isThere(container)) this.unfinished.delete(file);
  }
}
