import type { TopologyResult } from '../annotations/topology-result';
import { CpuSet } from '../cpuset';
import { cpusOfTopologyResult } from '../fit';
import { KINDS } from '../model/pool-view';
import type { PodSpec } from '../model/pod-spec';
import { findSpec } from '../model/spec-book';
import type { NodeView } from '../model/node-view';

/** CPUs that one pod has, and those that crane-scheduler counts for it. */
export interface Claim {
  /** CPUs that cannot be allocated to others, idle ones included. */
  readonly held: CpuSet;
  readonly announced: TopologyResult;
}

/**
 * The pods that hold CPUs, or that crane-scheduler counts as using some.
 *
 * It counts the annotation of every pod that the API server has on the node, whether it was followed here or not and
 * whether the pod's containers exist or not; finished pods it does not see. So the specs decide: a pod whose spec is
 * not known, as one that the API server has no more, announces nothing, although it may still hold CPUs.
 *
 * A result that names more CPUs than the pod's containers are entitled to here announces nothing, as cpusetd's extender
 * counts it: anyone may write the annotation, and no such result is followed. crane-scheduler counts it all the same,
 * so it finds less free there, never more.
 */
export function listClaims(view: NodeView): Claim[] {
  const holders = new Set<string>();
  const claims = holdersOf(view).map(({ held, ...pod }): Claim => {
    const spec = findSpec(view, pod);
    if (spec) holders.add(spec.uid);
    return { held, announced: spec ? announcedBy(view, spec) : NOTHING };
  });
  for (const spec of view.podSpecs.values()) {
    if (holders.has(spec.uid)) continue;
    const announced = announcedBy(view, spec);
    if (announced.size > 0) claims.push({ held: CpuSet.empty, announced });
  }
  return claims;
}

interface Holder {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly held: CpuSet;
}

function holdersOf({ assignments }: NodeView): Holder[] {
  const byPod = new Map<string, { namespace: string; name: string; sets: CpuSet[] }>();
  for (const { kind, podUid, podNamespace: namespace, podName: name, cpus } of assignments.values()) {
    if (KINDS[kind].claim === 'numa-nodes') continue;
    const pod = byPod.get(podUid);
    if (pod) pod.sets.push(cpus);
    else byPod.set(podUid, { namespace, name, sets: [cpus] });
  }
  return [...byPod].map(([uid, { namespace, name, sets }]) => ({ uid, namespace, name, held: CpuSet.unionOf(sets) }));
}

const NOTHING: TopologyResult = new Map();

function announcedBy({ settings }: NodeView, spec: PodSpec): TopologyResult {
  return spec.finished ? NOTHING : cpusOfTopologyResult(settings, spec);
}
