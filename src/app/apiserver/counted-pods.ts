import { CpuSet } from '../../core/cpuset';
import { sumPodCpus } from '../../core/model/pod-cpus';
import { KINDS } from '../../core/model/pool-view';
import type { NodeView } from '../../core/model/node-view';
import { type ContainerSpec, type PodSpec, runtimeUidOf } from '../../core/model/pod-spec';
import type { Settings } from '../../core/model/settings';
import { oncePer } from '../../core/once-per';
import { entitledBySpec } from '../../core/decision/entitlement';
import type { WatchedPod } from '../../kube';

/** The pods that the scheduler counts, by the informer mode of its NodeResourceTopologyMatch plugin. */
export type CountMode = 'dedicated' | 'shared';

/**
 * The phases in which the scheduler counts a pod that is bound to this node. `dedicated`: every phase but Pending, so
 * that finished pods count for as long as the API server has them. `shared`: Running only. Nothing else matters: pods
 * that are being deleted, mirrors of static pods and pods of the host's network count like others.
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
 * The pods that the scheduler counts, of all that the API server has on this node. A pod that waits to be decided
 * matters whether it counts or not: when fingerprints match, the scheduler forgets what it reserved for any pod of the
 * node.
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
  // A pod that names another's uid in an annotation has not got its CPUs.
  const isOurs = (named: { readonly namespace: string; readonly name: string }): boolean =>
    named.namespace === spec.namespace && named.name === spec.name;
  const uid = runtimeUidOf(spec);
  const made = new Set(view.podsOf(uid).some(isOurs) ? view.containersOf(uid).map(({ name }) => name) : []);
  // A pod is Pending as long as one of its init containers has not ended.
  const alive = entitled.filter(({ kind, ended }) => !ended && (kind !== 'init' || phase === 'Pending'));
  if (alive.every(({ name }) => made.has(name))) return false;
  const ofPod = view
    .assignmentsOf(uid)
    .filter(({ podNamespace, podName }) => isOurs({ namespace: podNamespace, name: podName }));
  const holders = new Set(ofPod.map(({ containerName }) => containerName));
  // One that was made and holds nothing shares. Init containers leave their CPUs to those that come after them.
  const needy = alive.filter(({ name }) => !made.has(name) || holders.has(name));
  const needed = sumPodCpus(needy.map(({ kind, count }) => ({ kind, cpus: count })));
  return CpuSet.unionOf(ofPod.map(({ cpus }) => cpus)).size < needed;
}

interface Entitled extends Pick<ContainerSpec, 'name' | 'kind' | 'ended'> {
  readonly count: number;
}

/**
 * The containers that take CPUs from others when they are created; found once for each spec, and not again for each
 * change.
 */
const entitledOf = oncePer((settings: Settings) =>
  oncePer((spec: PodSpec): readonly Entitled[] =>
    spec.containers.flatMap((container) => {
      const { name, kind, ended, requestMilliCpu = 0 } = container;
      if (requestMilliCpu === 0 || requestMilliCpu % 1000 !== 0) return []; // no policy gives it CPUs; this covers most containers
      const entitled = entitledBySpec(settings, spec, container);
      return entitled && KINDS[entitled.policy].claim !== 'numa-nodes'
        ? [{ name, kind, ended, count: entitled.count }]
        : [];
    }),
  ),
);
