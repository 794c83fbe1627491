import { resultOf, totalOf, type TopologyResult } from '../annotations/topology-result';
import type { Annotations } from '../annotations/annotations';
import { CpuSet } from '../cpuset';
import { mostAnnounced } from '../fit';
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
 * It counts the annotation of every pod that the API server has on the node, whether it was followed here or not and whether the
 * pod's containers exist or not; finished pods it does not see. So the specs decide: a pod that the API server has no more
 * announces nothing, although it may still hold CPUs. Before the API server has sent any pod, those of the runtime count.
 *
 * A result that names more CPUs than the pod's containers are entitled to here announces nothing, as cpusetd's extender counts it: anyone may write
 * the annotation, and no such result is followed. crane-scheduler counts it all the same, so it finds less free there, never more.
 */
export function listClaims(view: NodeView): Claim[] {
  const announcers = view.specSource.hasReported ? announcersBySpec(view) : announcersByRuntime(view);
  const holders = new Set<string>();
  const claims = holdersOf(view).map(({ held, ...pod }): Claim => {
    const announcer = announcers.of(pod);
    if (announcer) holders.add(announcer.uid);
    return { held, announced: announcedBy(view, announcer) };
  });
  for (const announcer of announcers.all) {
    if (holders.has(announcer.uid)) continue;
    const announced = announcedBy(view, announcer);
    if (announced.size > 0) claims.push({ held: CpuSet.empty, announced });
  }
  return claims;
}

/** A pod with the annotations that count. */
interface Announcer {
  readonly uid: string;
  readonly annotations: Annotations;
  /** Absent when its requests are not known. */
  readonly spec?: PodSpec;
}

interface Announcers {
  readonly all: Iterable<Announcer>;
  readonly of: (pod: Omit<Holder, 'held'>) => Announcer | undefined;
}

function announcersBySpec(view: NodeView): Announcers {
  const toAnnouncer = (spec: PodSpec): Announcer => ({ uid: spec.uid, annotations: spec.annotations, spec });
  return {
    all: [...view.podSpecs.values()].filter(({ finished }) => !finished).map(toAnnouncer),
    of: (pod) => {
      const spec = findSpec(view, pod);
      return spec === undefined || spec.finished ? undefined : toAnnouncer(spec);
    },
  };
}

function announcersByRuntime(view: NodeView): Announcers {
  return {
    all: [...view.pods.values()].filter(({ stopped }) => !stopped),
    of: ({ uid }) => view.podsOf(uid).find(({ stopped }) => !stopped),
  };
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

function announcedBy({ settings }: NodeView, announcer: Announcer | undefined): TopologyResult {
  const parsed = announcer && resultOf(announcer.annotations);
  if (parsed?.ok !== true) return NOTHING;
  if (!announcer?.spec) return parsed.announced;
  const most = mostAnnounced(settings, announcer.spec);
  return totalOf(parsed.result) > most ? NOTHING : parsed.announced;
}
