import type { PodInfo } from './events';
import { Groups } from './indexes';
import type { PodLevel } from './pod-level';
import { runtimeUidOf, type PodSpec } from './pod-spec';

/** Specs of pods by the uid that they have at the API server, and by name. */
export interface SpecsView extends ReadonlyMap<string, PodSpec> {
  /** The specs of this namespace and name: one, or the old and the new one of a pod that was created again. */
  named(namespace: string, name: string): readonly PodSpec[];
  /** The specs of the pod that the runtime knows by this uid: its own, and mirrors that claim to be of it. */
  ofRuntime(podUid: string): readonly PodSpec[];
}

/** The values of a table of specs; it follows the table to find them by name and by the runtime's uid. */
export class SpecMap extends Map<string, PodSpec> implements SpecsView {
  private readonly byName = new Groups<PodSpec>(nameOf);
  private readonly byRuntimeUid = new Groups<PodSpec>(runtimeUidOf);

  named(namespace: string, name: string): readonly PodSpec[] {
    return this.byName.of(nameOf({ namespace, name }));
  }

  ofRuntime(podUid: string): readonly PodSpec[] {
    return this.byRuntimeUid.of(podUid);
  }

  readonly follow = (before: PodSpec | undefined, after: PodSpec | undefined, uid: string): void => {
    this.byName.follow(before, after, uid);
    this.byRuntimeUid.follow(before, after, uid);
  };
}

function nameOf({ namespace, name }: Pick<PodSpec, 'namespace' | 'name'>): string {
  return `${namespace}/${name}`;
}

/** A pod of the runtime, with its spec and the annotations of that, where the API server has sent one. */
export interface ResolvedPod extends PodInfo {
  readonly spec: PodSpec | undefined;
  /** The pod as the runtime described it, with the annotations that the sandbox was created with. */
  readonly sandbox: PodInfo;
  /** Set where its containers have shown that it has resources as a whole: see `transition/pod-level.ts`. */
  readonly podLevel?: PodLevel;
}

/** Finds what is known of a pod beyond its sandbox, once for all decisions on it. */
export function resolvePod(
  view: { readonly podSpecs: SpecsView; readonly podLevel: ReadonlyMap<string, PodLevel> },
  pod: PodInfo,
): ResolvedPod {
  const resolved = withSpec(pod, findSpec(view, pod));
  const podLevel = view.podLevel.get(pod.uid);
  return podLevel?.shown === 'whole' ? { ...resolved, podLevel } : resolved;
}

/** The pod as this spec describes it. */
export function withSpec(sandbox: PodInfo, spec: PodSpec | undefined): ResolvedPod {
  return { spec, sandbox, ...sandbox, annotations: spec?.annotations ?? sandbox.annotations };
}

/**
 * The API server's spec of a pod of the runtime. Annotations can be forged: a mirror counts only for a pod that has
 * the same namespace and name, which no other pod can have, and never against a spec with the pod's own uid.
 */
export function findSpec(
  { podSpecs }: { readonly podSpecs: SpecsView },
  { uid, namespace, name }: Pick<PodInfo, 'uid' | 'namespace' | 'name'>,
): PodSpec | undefined {
  return podSpecs.get(uid) ?? podSpecs.named(namespace, name).find((spec) => runtimeUidOf(spec) === uid);
}

/** The state of the API server's events since the start. */
export interface SpecSource {
  /** It has sent pods: those that it has exist, also without a sandbox. */
  readonly hasReported: boolean;
  /** Pods that had CPUs before the start, by the runtime's uid, until the first complete list. */
  readonly awaited: ReadonlySet<string>;
}

/** Without an API server, or before its first event. */
export const SILENT: SpecSource = { hasReported: false, awaited: new Set() };
