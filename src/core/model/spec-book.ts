import { runtimeUidOf, type PodSpec } from './pod-spec';

/** Specs of pods by the uid that they have at the API server, and by name. */
export interface SpecsView extends ReadonlyMap<string, PodSpec> {
  /** Those of this namespace and name: one, or the old and the new one of a pod that was made again. */
  named(namespace: string, name: string): readonly PodSpec[];
  /** Those of the pod that the runtime knows by this uid: its own, and mirrors that claim to be of it. */
  ofRuntime(podUid: string): readonly PodSpec[];
}

/** A map of specs by uid that finds them by name as well, and by the uid that the runtime has for the pod. */
export class SpecBook extends Map<string, PodSpec> implements SpecsView {
  private readonly uidsByName = new Map<string, Set<string>>();
  private readonly uidsByRuntimeUid = new Map<string, Set<string>>();

  named(namespace: string, name: string): readonly PodSpec[] {
    return this.listOf(this.uidsByName.get(nameOf({ namespace, name })));
  }

  ofRuntime(podUid: string): readonly PodSpec[] {
    return this.listOf(this.uidsByRuntimeUid.get(podUid));
  }

  override set(uid: string, spec: PodSpec): this {
    const before = this.get(uid);
    if (before !== undefined && nameOf(before) !== nameOf(spec)) part(this.uidsByName, nameOf(before), uid);
    if (before !== undefined && runtimeUidOf(before) !== runtimeUidOf(spec))
      part(this.uidsByRuntimeUid, runtimeUidOf(before), uid);
    join(this.uidsByName, nameOf(spec), uid);
    join(this.uidsByRuntimeUid, runtimeUidOf(spec), uid);
    return super.set(uid, spec);
  }

  override delete(uid: string): boolean {
    const before = this.get(uid);
    if (before !== undefined) {
      part(this.uidsByName, nameOf(before), uid);
      part(this.uidsByRuntimeUid, runtimeUidOf(before), uid);
    }
    return super.delete(uid);
  }

  override clear(): void {
    this.uidsByName.clear();
    this.uidsByRuntimeUid.clear();
    super.clear();
  }

  private listOf(uids: ReadonlySet<string> | undefined): readonly PodSpec[] {
    return uids === undefined ? [] : [...uids].flatMap((uid) => this.get(uid) ?? []);
  }
}

function join(index: Map<string, Set<string>>, key: string, uid: string): void {
  const uids = index.get(key);
  if (uids) uids.add(uid);
  else index.set(key, new Set([uid]));
}

function part(index: Map<string, Set<string>>, key: string, uid: string): void {
  const uids = index.get(key);
  uids?.delete(uid);
  if (uids?.size === 0) index.delete(key);
}

function nameOf({ namespace, name }: Pick<PodSpec, 'namespace' | 'name'>): string {
  return `${namespace}/${name}`;
}
