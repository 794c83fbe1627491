import type { Missing } from '../../core/verdict/observation';
import { cgroupPathOf, type CgroupPlace, type Cgroups, type ContainerToLocate } from '../../host';

export type { CgroupPlace, ContainerToLocate };

export type FoundCgroup =
  | ({ readonly kind: 'found' } & CgroupPlace)
  /** There is none: the container is on its way in or out, or its cgroup is somewhere else. */
  | { readonly kind: 'gone'; readonly missing: Missing }
  | { readonly kind: 'refused'; readonly because: string };

interface Known {
  readonly sought: ContainerToLocate;
  readonly place: CgroupPlace;
}

/**
 * The one place that knows where the cgroup of a container is. Each path is looked up once and kept as long as it
 * holds; what is known of a container is forgotten with it.
 */
export class ContainerFinder {
  private readonly known = new Map<string, Known>();
  /** Containers whose cgroup was looked for in vain, and since when. */
  private readonly absentSinceMs = new Map<string, number>();
  private confirmedMs = -Infinity;
  private hasFoundElsewhere = false;

  constructor(
    private readonly parts: {
      readonly cgroups: Pick<Cgroups, 'locate'>;
      /** The first time that a cgroup is not where its name says. */
      readonly onElsewhere?: (container: ContainerToLocate, paths: { expected: string; found: string }) => void;
      /** Monotonic. */
      readonly nowMs?: () => number;
    },
  ) {}

  /**
   * All containers that are still known ran after this moment: the runtime was asked then, or reports every end by
   * itself.
   */
  confirm(atMs: number): void {
    this.confirmedMs = atMs;
  }

  /** Finds the cgroup of a container that runs. */
  find(container: ContainerToLocate): FoundCgroup {
    const known = this.known.get(container.id);
    return known && isSame(known.sought, container) ? { kind: 'found', ...known.place } : this.locate(container);
  }

  /**
   * Works on the cgroup of a container. Where that is gone, or is not there, it is looked for once more. `unverified`:
   * a container that was not looked for yet is taken to be where its name says, which costs nothing.
   */
  withCgroup<T extends { readonly kind: string }>(
    container: ContainerToLocate,
    work: (place: CgroupPlace) => T,
    { unverified = false }: { readonly unverified?: boolean } = {},
  ): Exclude<T, { readonly kind: 'gone' }> | Exclude<FoundCgroup, { readonly kind: 'found' }> {
    const named = unverified && !this.known.has(container.id) ? placeByName(container) : undefined;
    const first = named ?? this.find(container);
    if (first.kind === 'found') {
      const result = this.workAt(first, container, work);
      if (result !== undefined) return result;
    } else if (named === undefined) return first;
    const second = this.locate(container);
    if (second.kind !== 'found') return second;
    return this.workAt(second, container, work) ?? this.miss(container.id, 'its cgroup is being removed');
  }

  /** Forgets containers that are gone. */
  keepOnly(containers: { has(containerId: string): boolean }): void {
    for (const map of [this.known, this.absentSinceMs])
      for (const id of map.keys()) if (!containers.has(id)) map.delete(id);
  }

  /** Undefined when the cgroup is gone. */
  private workAt<T extends { readonly kind: string }>(
    place: CgroupPlace,
    { id }: ContainerToLocate,
    work: (place: CgroupPlace) => T,
  ): Exclude<T, { readonly kind: 'gone' }> | undefined {
    const result = work(place);
    if (result.kind === 'gone') return undefined;
    this.absentSinceMs.delete(id);
    return result as Exclude<T, { readonly kind: 'gone' }>;
  }

  private locate(container: ContainerToLocate): FoundCgroup {
    const { id, cgroupsPath, pid } = container;
    const located = this.parts.cgroups.locate(container);
    this.known.delete(id);
    if (located.kind === 'absent') return this.miss(id, located.because);
    if (located.kind === 'refused') return located;
    const { path, cpuPath, expected } = located;
    this.known.set(id, { sought: { id, cgroupsPath, ...(pid !== undefined && { pid }) }, place: { path, cpuPath } });
    if (expected !== undefined && !this.hasFoundElsewhere) {
      this.hasFoundElsewhere = true;
      this.parts.onElsewhere?.(container, { expected, found: path });
    }
    return { kind: 'found', path, cpuPath };
  }

  private miss(id: string, because: string): Extract<FoundCgroup, { kind: 'gone' }> {
    const nowMs = (this.parts.nowMs ?? (() => performance.now()))();
    const sinceMs = this.absentSinceMs.get(id) ?? nowMs;
    this.absentSinceMs.set(id, sinceMs);
    return { kind: 'gone', missing: { because, forMs: nowMs - sinceMs, isConfirmed: this.confirmedMs > sinceMs } };
  }
}

function isSame(a: ContainerToLocate, b: ContainerToLocate): boolean {
  return a.cgroupsPath === b.cgroupsPath && (b.pid === undefined || a.pid === b.pid);
}

function placeByName({ cgroupsPath }: ContainerToLocate): FoundCgroup {
  const named = cgroupPathOf(cgroupsPath);
  return named.kind === 'refused' ? named : { kind: 'found', path: named.path, cpuPath: named.path };
}
