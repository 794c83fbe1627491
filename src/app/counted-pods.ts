import { choosePolicy } from '../core/annotations';
import { keyOf } from '../core/model/assignment';
import { runtimeUidOf } from '../core/model/find-spec';
import { KINDS } from '../core/model/kinds';
import type { NodeView } from '../core/model/node-model';
import type { ContainerSpec, PodSpec } from '../core/model/pod-spec';
import type { Settings } from '../core/model/settings';
import { oncePer } from '../core/once-per';
import { SPEC_ENTITLEMENTS } from '../core/policy';
import type { WatchedPod } from '../kube';

/** Which pods the scheduler counts, by the informer mode of its NodeResourceTopologyMatch plugin. */
export type CountMode = 'dedicated' | 'shared';

/**
 * Whether the scheduler counts a pod that is bound to this node. `dedicated`: every phase but Pending, so that finished pods
 * count for as long as the API server has them. `shared`: Running only. Nothing else matters: pods that are being deleted,
 * mirrors of static pods and pods of the host's network count like others.
 */
const COUNTS: Readonly<Record<CountMode, (phase: string) => boolean>> = {
  dedicated: (phase) => phase !== 'Pending',
  shared: (phase) => phase === 'Running',
};

export interface CountedPods {
  readonly counted: readonly PodSpec[];
  /** A pod that will take CPUs which the amounts do not know of yet; no fingerprint must match until it is decided. */
  readonly undecided: PodSpec | undefined;
}

/**
 * The pods that the scheduler counts, of all that the API server has on this node. A pod that waits to be decided matters
 * whether it counts or not: when fingerprints match, the scheduler forgets what it reserved for any pod of the node.
 */
export function countPods(mode: CountMode, watched: readonly WatchedPod[], view: NodeView): CountedPods {
  return {
    counted: watched.filter(({ phase }) => COUNTS[mode](phase)).map(({ spec }) => spec),
    undecided: watched.find((pod) => isUndecided(view, pod))?.spec,
  };
}

function isUndecided(view: NodeView, { phase, spec }: WatchedPod): boolean {
  if (spec.finished) return false;
  const entitled = entitledOf(view.settings)(spec);
  if (entitled.length === 0) return false;
  const uid = runtimeUidOf(spec);
  const isOurs = view.podsOf(uid).some(({ namespace, name }) => namespace === spec.namespace && name === spec.name);
  const running = new Set(isOurs ? view.containersOf(uid).map(({ name }) => name) : []);
  return entitled.some(({ name, kind, ended }) => {
    // A pod is Pending as long as one of its init containers has not ended.
    if (ended || (kind === 'init' && phase !== 'Pending') || running.has(name)) return false;
    const assignment = view.assignments.get(keyOf({ podUid: uid, containerName: name }));
    // Who names another pod's uid in an annotation has not got its CPUs.
    return assignment?.podNamespace !== spec.namespace || assignment.podName !== spec.name;
  });
}

/** The containers that take CPUs from others when they are created; found once for each spec, and not again for each change. */
const entitledOf = oncePer((settings: Settings) =>
  oncePer((spec: PodSpec): readonly ContainerSpec[] =>
    spec.containers.filter((container) => {
      const { policy } = choosePolicy(settings, spec.annotations, container.name);
      if (policy === 'none' || KINDS[policy].holds === 'nodes') return false;
      return SPEC_ENTITLEMENTS[policy](spec, container).kind === 'exclusive';
    }),
  ),
);
