import type { RefusedContainer, ZoneRoom } from '../../admin/model/explanation';
import { CpuSet } from '../../core/cpuset';
import { keyOf, type Assignment } from '../../core/model/assignment';
import { describeKeptCpus, isKeptByApiServer } from '../../core/model/kept-cpus';
import { KINDS } from '../../core/model/pool-view';
import type { NodeView } from '../../core/model/node-view';
import { DEFAULT_KIND } from '../../core/model/policies';
import type { Refusal } from '../../core/model/refusal';
import { SCHEDULED_POLICIES } from '../../core/decision/entitlement';
import { POLICIES, resize, type Decision } from '../../core/policy';
import { snapshotFor, snapshotOfRunning } from '../../core/decision/snapshot';
import { countFree } from '../../core/transition';
import { plural } from '../../core/text';

/** Shows a refusal beside what the node has now, with a remedy. */
export function explainRefusal(view: NodeView, refusal: Refusal): RefusedContainer {
  const { podUid, podNamespace: namespace, podName: pod, containerName: container, zones } = refusal;
  const { asked, requested, policy, chosenBy, code, because, firstAt, lastAt, times } = refusal;
  const decision = decideNow(view, refusal);
  const now = decision && describeNow(view, refusal, decision);
  return {
    podUid,
    asked,
    requested,
    policy,
    code,
    because,
    firstAt,
    lastAt,
    times,
    ...(chosenBy !== undefined && { chosenBy }),
    namespace,
    pod,
    container,
    zones: describeZones(view, zones),
    now: now ?? '',
    fitsNow: decision?.kind === 'pin',
    remedy: remedyFor(view, refusal, decision, heldBy(view, refusal)?.cpus.size),
  };
}

/**
 * The decision of the policy now; undefined when it depends on facts that are not kept: the scheduler's choice, or a
 * bound.
 */
function decideNow(view: NodeView, refusal: Refusal): Decision | undefined {
  const { podUid, containerName, policy, requested, podCount, memoryBytes = 0, isBound, asked } = refusal;
  if (requested === 0 || isBound) return undefined;
  const held = heldBy(view, refusal);
  const request = { count: requested, ...(podCount !== undefined && { podCount }), memoryBytes };
  if (held) return resize(snapshotOfRunning(view, { uid: podUid }, containerName, held.kind), request, held.kind);
  if (SCHEDULED_POLICIES.has(policy)) return undefined;
  const takeSnapshot = asked === 'change' ? snapshotOfRunning : snapshotFor;
  return POLICIES[policy](takeSnapshot(view, { uid: podUid }, containerName, DEFAULT_KIND), request);
}

/** The assignment of a running container whose resize was refused: it keeps that. */
function heldBy({ assignments }: NodeView, { asked, ...names }: Refusal): Assignment | undefined {
  const assignment = asked === 'change' ? assignments.get(keyOf(names)) : undefined;
  return assignment?.containerId === null ? undefined : assignment;
}

function describeNow(view: NodeView, { requested, podUid: uid }: Refusal, decision: Decision): string {
  if (decision.kind === 'pin') return `${plural(requested, 'CPU')} would fit: ${decision.cpus.toString()}`;
  return decision.kind === 'refuse'
    ? `it would be refused: ${decision.because}${describeKeptCpus(view, { uid }, { withNames: true })}`
    : `it would share: ${decision.because}`;
}

/** The zones of the refusal beside those of now: CPUs may have gone offline or online. */
function describeZones(view: NodeView, then: Refusal['zones']): readonly ZoneRoom[] {
  const owned = [...view.assignments.values()].filter(({ kind }) => KINDS[kind].claim === 'exclusive');
  const now = new Map(countFree(view).map((zone) => [zone.node, zone]));
  const cpusOf = new Map(view.topology.numaNodes.map(({ id, cpus }) => [id, cpus]));
  return then.map(({ node, allocatable, free }) => {
    const cpus = cpusOf.get(node);
    const pods = new Set(cpus && owned.filter((each) => each.cpus.overlaps(cpus)).map(({ podUid }) => podUid));
    const zone = now.get(node);
    return { node, allocatable: zone?.allocatable ?? allocatable, free, freeNow: zone?.free ?? 0, podsNow: pods.size };
  });
}

function remedyFor(
  view: NodeView,
  { code, requested, asked }: Refusal,
  decision: Decision | undefined,
  held = 0,
): string {
  const { topology, settings, free } = view;
  const tries = asked === 'change' ? 'the change has to be asked for again' : 'the kubelet tries again by itself';
  switch (code) {
    case 'RESOURCE_EXHAUSTED': {
      const most = topology.online.minus(settings.reserved).size;
      if (decision?.kind === 'pin') return `none is needed any more: ${tries}`;
      if (requested > most && topology.confinement)
        return `this node has ${plural(most, 'CPU')} to give out as long as the cgroup ${topology.confinement.bound.cgroup} has no others: give it more, ask for fewer, or have the pod scheduled to a larger node`;
      if (requested > most)
        return `this node has ${plural(most, 'CPU')} to give out, and never ${requested}: ask for fewer, or have the pod scheduled to a larger node`;
      const missing = requested - held - free.size;
      const lack =
        missing > 0
          ? `${plural(missing, 'more CPU has', 'more CPUs have')} to come free`
          : 'what the reason names has to change';
      const kept = CpuSet.unionOf(
        [...view.holdings.idle, ...view.holdings.planned]
          .filter((each) => isKeptByApiServer(view, each))
          .map(({ cpus }) => cpus),
      ).size;
      const word =
        kept === 0
          ? ''
          : `; ${plural(kept, 'CPU is', 'CPUs are')} kept on the word of the API server alone: see in cpusetd status that it answers`;
      return `${lack}: end a pod that has CPUs, ask for fewer, or have the pod scheduled to another node; ${tries}${word}`;
    }
    case 'FAILED_PRECONDITION':
      return 'ask for what the reason says: trying again does not help';
    case 'UNAVAILABLE':
      return `look at the alarms of cpusetd status and at the log for what could not be written; ${tries} when that is put right`;
    case 'INVALID_ARGUMENT':
      return 'correct the pod as the reason says: trying again does not help';
    case 'INTERNAL':
      return 'look at the log of cpusetd for the fault, and report it';
  }
}
