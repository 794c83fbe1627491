import type { PodSpec } from './pod-spec';

/** Specs of pods by the uid that they have at the API server, and by name. */
export interface SpecsView extends ReadonlyMap<string, PodSpec> {
  /** Those of this namespace and name: one, or the old and the new one of a pod that was made again. */
  named(namespace: string, name: string): readonly PodSpec[];
}

/** A map of specs by uid that finds them by name as well. */
export class SpecBook extends Map<string, PodSpec> implements SpecsView {
  private readonly uidsByName = new Map<string, Set<string>>();

  named(namespace: string, name: string): readonly PodSpec[] {
    if (this.size === 0) return [];
    const uids = this.uidsByName.get(nameOf({ namespace, name }));
    return uids === undefined ? [] : [...uids].flatMap((uid) => this.get(uid) ?? []);
  }

  override set(uid: string, spec: PodSpec): this {
    const before = this.get(uid);
    if (before !== undefined && nameOf(before) !== nameOf(spec)) this.leave(before, uid);
    const name = nameOf(spec);
    const uids = this.uidsByName.get(name);
    if (uids) uids.add(uid);
    else this.uidsByName.set(name, new Set([uid]));
    return super.set(uid, spec);
  }

  override delete(uid: string): boolean {
    const before = this.get(uid);
    if (before !== undefined) this.leave(before, uid);
    return super.delete(uid);
  }

  override clear(): void {
    this.uidsByName.clear();
    super.clear();
  }

  private leave(spec: PodSpec, uid: string): void {
    const name = nameOf(spec);
    const uids = this.uidsByName.get(name);
    uids?.delete(uid);
    if (uids?.size === 0) this.uidsByName.delete(name);
  }
}

function nameOf({ namespace, name }: Pick<PodSpec, 'namespace' | 'name'>): string {
  return `${namespace}/${name}`;
}
