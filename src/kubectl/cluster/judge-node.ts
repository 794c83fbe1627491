import { findObstacles, type ContainerWish } from '../../core/node-resources/fit-published';
import { sumPodRequest } from '../../core/inference/pod-cpus';
import { entitledBySpec } from '../../core/policy';
import { POLICY_TABLE } from '../../core/model/policies';
import type { AlignmentBoundary } from '../../core/topology';
import { CpuSet } from '../../core/cpuset';
import { NO_OPTIONS, type Settings } from '../../core/model/settings';
import { plural } from '../../core/text';
import { asArray, asObject, asString, asTexts, type JsonObject } from '../../kube';
import type { ClusterPod } from './read-cluster';
import { roomOf, settingsOf, stateOf, type PublishedNode, type Taint } from './published-node';

/** The containers of a pod that are entitled to CPUs, by the policies of a node. */
export function wishesOf({ watched: { spec } }: ClusterPod, { topology }: PublishedNode): ContainerWish[] {
  const settings: Settings = {
    ...{ options: NO_OPTIONS, reserved: CpuSet.empty, minSharedCpus: 1, onInsufficientCpu: 'refuse' },
    liftCpuQuota: true,
    ...settingsOf(topology),
  };
  return spec.containers.flatMap((container) => {
    const entitled = entitledBySpec(settings, spec, container);
    return entitled ? [{ name: container.name, kind: container.kind, ...entitled }] : [];
  });
}

export interface Judging {
  /** CPU that unfinished pods request on each node, in thousandths. */
  readonly requested: ReadonlyMap<string, number>;
  readonly nowMs: number;
}

/**
 * Tells what is in the way of a pod on a node, a sentence for each obstacle; none when it fits. Looked at are the Node's own rules (cordon,
 * taints, labels), its CPU, and what cpusetd needs for the pod's exclusive CPUs. Not looked at are memory and other resources, volumes, and
 * affinity to other pods.
 */
export function judgePod(pod: ClusterPod, node: PublishedNode, { requested, nowMs }: Judging): string[] {
  const spec = asObject(asObject(pod.object)['spec']);
  const wishes = wishesOf(pod, node);
  return [
    ...judgeNode(node, asArray(spec['tolerations']).map(asObject)),
    ...judgeLabels(node, spec),
    ...judgeRequest(node, sumPodRequest(pod.watched.spec), requested.get(node.name) ?? 0),
    ...(wishes.length === 0 ? [] : judgeCpus(node, wishes, nowMs)),
  ];
}

/** Lists the obstacles to a new container of so many CPUs, aligned or not. Its pod tolerates no taint. */
export function judgeCount(
  node: PublishedNode,
  { cpus, aligned, nowMs }: { readonly cpus: number; readonly aligned?: AlignmentBoundary; readonly nowMs: number },
): string[] {
  const { cpuManagerPolicy, podPolicies } = settingsOf(node.topology);
  // As `cpusetd explain --cpus`: where the node gives none, a pod may choose a policy that does.
  const policy = [cpuManagerPolicy, ...podPolicies].find((of) => POLICY_TABLE[of].claim !== null);
  if (policy === undefined || policy === 'none')
    return [...judgeNode(node, []), 'the policy none gives no CPUs, and pods may choose no other'];
  const obstacles = judgeCpus(node, [{ name: '', kind: 'app', policy, count: cpus }], nowMs);
  const most = aligned && (node.topology?.summary?.aligned[aligned] ?? 0);
  const isMisaligned = most !== undefined && cpus > most && obstacles.length === 0;
  return [
    ...judgeNode(node, []),
    ...obstacles,
    ...(isMisaligned ? [`aligned to ${BOUNDARY_NAMES[aligned!]}, the most is ${plural(most, 'CPU')}`] : []),
  ];
}

export const BOUNDARY_NAMES: Readonly<Record<AlignmentBoundary, string>> = {
  physical_cpu: 'whole cores',
  uncore_cache: 'one uncore cache',
  numa_node: 'one NUMA node',
};

function judgeCpus(node: PublishedNode, wishes: readonly ContainerWish[], nowMs: number): string[] {
  const { kind, because } = stateOf(node, nowMs);
  const state = kind === 'not-ready' || kind === 'silent' ? [`cpusetd is not ready: ${because}`] : [];
  if (!node.topology) return [...state, 'it publishes no NodeResourceTopology, so its free CPUs are not known'];
  return [...state, ...findObstacles(roomOf(node.topology), wishes)];
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
  const missing = Object.entries(asTexts(nodeSelector)).filter(([key, value]) => labels[key] !== value);
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
    ...missing.map(([key, value]) => `its label ${key} is ${labels[key] ?? 'not set'}, and the pod wants ${value}`),
    ...(isChosen ? [] : ['the node affinity of the pod leaves it out']),
  ];
}

/** A requirement of Kubernetes on labels. An operator that is not known matches nothing. */
export function matches({ key, operator, values }: JsonObject, labels: Readonly<Record<string, unknown>>): boolean {
  const name = asString(key);
  const value = Object.hasOwn(labels, name) ? asString(labels[name]) : undefined;
  const wanted = asArray(values).map(asString);
  switch (operator) {
    case 'In':
      return value !== undefined && wanted.includes(value);
    case 'NotIn':
      return value === undefined || !wanted.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'Gt':
      return value !== undefined && Number(value) > Number(wanted[0]);
    case 'Lt':
      return value !== undefined && Number(value) < Number(wanted[0]);
    default:
      return false;
  }
}

function judgeRequest({ allocatableMilliCpu }: PublishedNode, wanted: number, requested: number): string[] {
  const left = Math.max(0, allocatableMilliCpu - requested);
  if (wanted <= left) return [];
  return [
    `the pod requests ${showMilli(wanted)} CPU, and ${showMilli(left)} of ${showMilli(allocatableMilliCpu)} is not requested yet`,
  ];
}

const showMilli = (milli: number): string => String(milli / 1_000);
