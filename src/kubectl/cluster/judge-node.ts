import {
  describeObstacle,
  fitPod,
  needsOf,
  NO_ZONE_AMOUNTS,
  PLAIN_RULES,
  sumUse,
  useOf,
  type ContainerNeed,
  type NodeOffer,
  type PodToPlace,
  type ZoneAmounts,
} from '../../core/fit';
import { DEFAULT_KIND, POLICY_TABLE } from '../../core/model/policies';
import type { AlignmentBoundary } from '../../core/topology';
import { plural } from '../../core/text';
import { asArray, asObject, asString, asTexts, type JsonObject } from '../../kube';
import { labelOf, matches } from './match-labels';
import type { ClusterPod, Load } from './read-cluster';
import { stateOf, whyNotPinning, type PublishedNode, type Taint } from './published-node';

/** The containers of a pod that are entitled to CPUs, by the rules of a node. */
export function wishesOf({ place }: ClusterPod, { topology }: PublishedNode): readonly ContainerNeed[] {
  const rules = rulesOf(topology?.offer);
  // A node whose rules can't be read may give CPUs: it is looked at as one of the default policy.
  return needsOf(place, rules === 'unreadable' ? PLAIN_RULES : rules).containers;
}

/** A node that publishes nothing is looked at as one of the default policy. */
function rulesOf(offer: NodeOffer | undefined): NodeOffer['rules'] {
  return offer ? offer.rules : PLAIN_RULES;
}

export interface Judging {
  /** The pods of each node. */
  readonly loads: ReadonlyMap<string, Load>;
  readonly nowMs: number;
}

/** A sentence for each. */
export interface Judgement {
  /** None when the pod fits. */
  readonly obstacles: readonly string[];
  /** The scheduler binds the pod all the same. */
  readonly warnings: readonly string[];
}

/**
 * Tells what is in the way of a pod on a node. Looked at are the Node's own rules (cordon, taints, labels), its CPU,
 * and what cpusetd needs for the pod's exclusive CPUs, as the extender decides it. Not looked at are memory and other
 * resources, volumes, and affinity to other pods.
 */
export function judgePod(pod: ClusterPod, node: PublishedNode, judging: Judging): Judgement {
  const { spec } = pod.object;
  const load = judging.loads.get(node.name);
  const { obstacles, warnings } = judgeCpus(node, pod.place, usedOf(node, judging, pod), judging.nowMs);
  return {
    obstacles: [
      ...judgeNode(node, asArray(spec['tolerations']).map(asObject)),
      ...judgeLabels(node, spec),
      ...judgeRequest(node, pod.milliCpu, load?.milliCpu ?? 0),
      ...obstacles,
    ],
    warnings,
  };
}

/**
 * The amounts that pods take of the zones by their results, where the node leaves that to schedulers to count, and
 * those of pods that are just being bound. The pod itself does not count. The time of a claim says nothing: it is by
 * the clock of the replica that wrote it.
 */
function usedOf({ name, topology }: PublishedNode, { loads }: Judging, { place }: ClusterPod): ZoneAmounts {
  if (topology?.offer.byResults !== true) return NO_ZONE_AMOUNTS;
  const { offer, claims } = topology;
  const rules = offer.rules === 'unreadable' ? undefined : offer.rules;
  const { uid: own } = place.spec;
  const announced = [...(loads.get(name)?.announced ?? [])];
  const isBound = (uid: string): boolean => [...loads.values()].some((load) => load.announced.has(uid));
  return sumUse([
    ...announced.flatMap(([uid, announcement]) => (uid === own ? [] : [useOf(announcement, rules)])),
    ...[...claims].flatMap(([uid, claim]) => (uid === own || isBound(uid) ? [] : [claim.zones])),
  ]);
}

/**
 * Judges a new container of a number of CPUs, aligned or not. Its pod tolerates no taint. Where nothing is pinned now,
 * it would not get them, although a scheduler binds the pod.
 */
export function judgeCount(
  node: PublishedNode,
  { cpus, aligned, nowMs }: { readonly cpus: number; readonly aligned?: AlignmentBoundary; readonly nowMs: number },
): Judgement {
  const rules = rulesOf(node.topology?.now);
  // As `cpusetd explain --cpus`: where the node gives none, a pod may choose a policy that does.
  const policies = rules === 'unreadable' || !rules ? ([DEFAULT_KIND] as const) : [rules.policy, ...rules.podPolicies];
  const policy = policies.find((each) => POLICY_TABLE[each].claim !== null);
  const notPinning = whyNotPinning(node, nowMs);
  const ofNode = [...judgeNode(node, []), ...(notPinning === undefined ? [] : [notPinning])];
  if (policy === undefined) {
    const none = 'the policy none gives no CPUs, and pods may choose no other';
    return { obstacles: [...ofNode, none], warnings: [] };
  }
  const now = node.topology?.now;
  const offer = now && rules !== 'unreadable' && rules ? { ...now, rules: { ...rules, policy } } : now;
  const { obstacles, warnings } = judgeCpus(withOffer(node, offer), podOfOne(cpus), NO_ZONE_AMOUNTS, nowMs);
  const most = aligned && (node.topology?.summary?.aligned[aligned] ?? 0);
  const isMisaligned = most !== undefined && cpus > most && obstacles.length === 0;
  const misaligned = isMisaligned ? [`aligned to ${BOUNDARY_NAMES[aligned!]}, the most is ${plural(most, 'CPU')}`] : [];
  return {
    obstacles: [...ofNode, ...obstacles, ...misaligned],
    warnings: notPinning === undefined ? warnings : [], // the same text
  };
}

function withOffer(node: PublishedNode, offer: NodeOffer | undefined): PublishedNode {
  return node.topology && offer ? { ...node, topology: { ...node.topology, offer } } : node;
}

/** A Guaranteed pod of one container. */
function podOfOne(cpus: number): PodToPlace {
  const milliCpu = cpus * 1_000;
  const resources = { requestMilliCpu: milliCpu, limitMilliCpu: milliCpu };
  return {
    spec: {
      uid: '',
      namespace: '',
      name: '',
      annotations: {},
      qos: 'Guaranteed',
      finished: false,
      containers: [{ name: '', kind: 'app', ended: false, ...resources }],
    },
    isOfDaemonSet: false,
    awareness: undefined,
    declines: false,
    requests: new Map([['', new Map([['cpu', milliCpu]])]]),
  };
}

export const BOUNDARY_NAMES: Readonly<Record<AlignmentBoundary, string>> = {
  physical_cpu: 'whole cores',
  uncore_cache: 'one uncore cache',
  numa_node: 'one NUMA node',
};

/** On a node where cpusetd is not ready, the pod is bound all the same; the node refuses it there, or pins it later. */
function judgeCpus(node: PublishedNode, pod: PodToPlace, used: ZoneAmounts, nowMs: number): Judgement {
  const fit = fitPod(pod, node.topology?.offer, used);
  if (fit.kind === 'skip') return { obstacles: [], warnings: [] };
  const { kind, because } = stateOf(node, nowMs);
  return {
    obstacles: fit.kind === 'no-fit' ? [describeObstacle(fit.obstacle)] : [],
    warnings: kind === 'not-ready' || kind === 'silent' ? [`cpusetd is not ready: ${because}`] : [],
  };
}

const CORDON: Taint = { key: 'node.kubernetes.io/unschedulable', value: '', effect: 'NoSchedule' };

function judgeNode({ isCordoned, taints }: PublishedNode, tolerations: readonly JsonObject[]): string[] {
  const isTolerated = (taint: Taint): boolean => tolerations.some((each) => tolerates(each, taint));
  const hard = taints.filter(({ key, effect }) => effect !== 'PreferNoSchedule' && key !== CORDON.key);
  return [
    ...(isCordoned && !isTolerated(CORDON) ? ['it is cordoned'] : []),
    ...hard
      .filter((taint) => !isTolerated(taint))
      .map(({ key, value, effect }) => {
        return `its taint ${key}${value === '' ? '' : `=${value}`}:${effect} is not tolerated`;
      }),
  ];
}

function tolerates({ key, operator, value, effect }: JsonObject, taint: Taint): boolean {
  if (asString(effect) !== '' && effect !== taint.effect) return false;
  if (operator === 'Exists') return asString(key) === '' || key === taint.key;
  return key === taint.key && asString(value) === taint.value;
}

function judgeLabels({ name, labels }: PublishedNode, { nodeSelector, affinity }: JsonObject): string[] {
  const missing = Object.entries(asTexts(nodeSelector)).filter(([key, value]) => labelOf(labels, key) !== value);
  const { nodeSelectorTerms } = asObject(
    asObject(asObject(affinity)['nodeAffinity'])['requiredDuringSchedulingIgnoredDuringExecution'],
  );
  const terms = asArray(nodeSelectorTerms).map(asObject);
  const isChosen =
    terms.length === 0 ||
    terms.some(({ matchExpressions, matchFields }) => {
      const [byLabel, byField] = [asArray(matchExpressions), asArray(matchFields)].map((list) => list.map(asObject));
      return (
        byLabel!.length + byField!.length > 0 &&
        byLabel!.every((each) => matches(each, labels)) &&
        byField!.every((each) => matches(each, { 'metadata.name': name }))
      );
    });
  return [
    ...missing.map(
      ([key, value]) => `its label ${key} is ${labelOf(labels, key) ?? 'not set'}, and the pod wants ${value}`,
    ),
    ...(isChosen ? [] : ['the node affinity of the pod leaves it out']),
  ];
}

function judgeRequest({ allocatableMilliCpu }: PublishedNode, wanted: number, requested: number): string[] {
  const left = Math.max(0, allocatableMilliCpu - requested);
  if (wanted <= left) return [];
  return [
    `the pod requests ${showMilli(wanted)} CPU, and ${showMilli(left)} of ${showMilli(allocatableMilliCpu)} is not requested yet`,
  ];
}

const showMilli = (milli: number): string => String(milli / 1_000);
