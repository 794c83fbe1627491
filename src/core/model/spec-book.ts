import type { PodInfo } from './events';
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

/** A pod of the runtime, with its spec where the API server has told it, and with the annotations of that. */
export interface ResolvedPod extends PodInfo {
  readonly spec: PodSpec | undefined;
  /** The pod as the runtime told it, with the annotations that the sandbox was made with. */
  readonly sandbox: PodInfo;
}

/** Finds the spec of a pod, once for all decisions on it. */
export function resolvePod(view: { readonly podSpecs: SpecsView }, pod: PodInfo): ResolvedPod {
  return withSpec(pod, findSpec(view, pod));
}

/** The pod as this spec describes it. */
export function withSpec(sandbox: PodInfo, spec: PodSpec | undefined): ResolvedPod {
  return { spec, sandbox, ...sandbox, annotations: spec?.annotations ?? sandbox.annotations };
}

/**
 * The spec that the API server told of a pod of the runtime. Annotations can be forged: a mirror counts only for a pod that has
 * the same namespace and name, which no other pod can have, and never against a spec with the pod's own uid.
 */
export function findSpec(
  { podSpecs }: { readonly podSpecs: SpecsView },
  { uid, namespace, name }: Pick<PodInfo, 'uid' | 'namespace' | 'name'>,
): PodSpec | undefined {
  return podSpecs.get(uid) ?? podSpecs.named(namespace, name).find((spec) => runtimeUidOf(spec) === uid);
}

/** News of the pods of this node that the API server has told since the start. */
export interface SpecSource {
  /** It has told of pods: one that it has is there, whatever became of its sandbox. */
  readonly told: boolean;
  /** Pods that had CPUs before the start, by the runtime's uid, as long as its first complete list has to tell whether they are there. */
  readonly awaited: ReadonlySet<string>;
}

/** Without an API server, or before it was heard. */
export const SILENT: SpecSource = { told: false, awaited: new Set() };
