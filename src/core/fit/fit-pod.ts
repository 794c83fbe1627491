import { POLICY_NAMES, POLICY_TABLE } from '../model/policies';
import { MAX_ALLOWABLE_NUMA_NODES } from '../options/topology-manager-options';
import { CPU, NO_AMOUNTS, type ZoneAmounts } from './amounts';
import { chooseOneZone, cpuOf, spreadOverZones, type Choice, type Strategy, type ZoneGrant } from './choose-zones';
import { freeRoomOf, hasRoomFor, sumFree, type FreeRoom, type FreeZone, type NodeOffer } from './node-offer';
import { isStrict, PLAIN_RULES, type NodeRules } from './node-rules';
import type { Obstacle } from './obstacle';
import { needsOf, type PodNeeds } from './pod-needs';
import type { PodToPlace } from './pod-to-place';
import { rehearse, type ZoneCounts } from './rehearse';

/** The answer for one pod and one node. */
export type Fit =
  /** The zones of the node do not matter for the pod. */
  | { readonly kind: 'skip'; readonly because: string }
  /** `grants`: sorted by the name of the zone, as text; empty where no result is written. */
  | { readonly kind: 'fit'; readonly grants: readonly ZoneGrant[]; readonly left: LeftCpus }
  | { readonly kind: 'no-fit'; readonly obstacle: Obstacle };

/** CPUs of the zones that were chosen, in thousandths. */
export interface LeftCpus {
  readonly allocatable: number;
  /** Free after the pod got its own. */
  readonly free: number;
}

/**
 * Tells whether a pod fits on a node, by what the node publishes: the one answer of the extender, of `kubectl cpuset`,
 * and of all reports. Pure.
 *
 * On a node of cpusetd, what fits is given by the node as long as nothing else changes there; see README.md for what is
 * refused although it would be given. On other nodes it is the Filter of crane-scheduler's NodeResourceTopologyMatch,
 * without its faults: of zones that are equal the first counts, an over-used zone has nothing free, and a pod that
 * needs more than all zones have does not fit.
 *
 * @param node undefined: the node has published nothing
 * @param used the amounts that other pods have in each zone, by their results
 */
export function fitPod(pod: PodToPlace, node: NodeOffer | undefined, used: ZoneAmounts, strategy?: Strategy): Fit {
  return fitPodInto(pod, node, node && freeRoomOf(node, used), strategy);
}

/** The same where what is free is known already. */
export function fitPodInto(
  pod: PodToPlace,
  node: NodeOffer | undefined,
  free: FreeRoom | undefined,
  strategy: Strategy = 'LeastAllocated',
): Fit {
  const rules = node?.rules;
  if (rules === 'unreadable') return wantsCpus(pod) ? noFit({ kind: 'unreadable-rules' }) : SKIPPED.noWholeCpus;
  if (!rules && pod.isOfDaemonSet) return SKIPPED.daemonSet;
  if (!node || !free) return getsCpus(pod, DEFAULT_RULES) ? noFit({ kind: 'no-topology' }) : SKIPPED.shares;
  const needs = needsOf(pod, rules);
  if (needs.cpu === 0) return rules ? SKIPPED.shares : SKIPPED.noWholeCpus;
  if (!node.isStatic) return SKIPPED.notStatic;
  const isTogether = pod.awareness ?? node.isAware;
  if (!rules) return fitOf(isTogether ? chooseOneZone(needs, free.byCpu, strategy) : spreadOverZones(needs, free.byCpu, strategy), free.byCpu); // prettier-ignore
  if (!node.byResults || needs.way === 'mixed') return fitAlone(needs, rules, free);
  return needs.way === 'each'
    ? fitEach(needs, rules, free, { isTogether, strategy })
    : fitSet(needs, free, { isTogether, strategy });
}

/**
 * True when the pod still fits with the zones of an earlier answer: they are free, and by the rules that count now they
 * would be its answer.
 */
export function fitsInto(pod: PodToPlace, node: NodeOffer, used: ZoneAmounts, granted: ZoneAmounts): boolean {
  const { rules } = node;
  if (rules === 'unreadable' || !hasRoomFor(node, used, granted)) return false;
  if ((pod.awareness ?? node.isAware) && granted.size > 1) return false;
  const needs = needsOf(pod, rules);
  if (!rules || needs.way !== 'each') return true;
  const { byCpu, byCore, bound } = freeRoomOf(node, used);
  const zones = rules.cpusPerCore > 1 ? byCore : byCpu;
  if (zones.some(({ name, cpu }) => cpuOf(granted.get(name) ?? NO_AMOUNTS) > cpu)) return false;
  if (!isStrict(rules.topologyPolicy)) return true;
  const counts = countsOf(zones, bound);
  if (!canRehearse(counts, needs)) return granted.size === 1;
  const grants = [...granted].map(([zone, amounts]) => ({ zone, amounts }));
  return isFollowed(counts, needs, rules, takenBy(grants, zones));
}

/** Some container of the pod gets whole CPUs on some node. */
function wantsCpus(pod: PodToPlace): boolean {
  return WIDEST_RULES.some((rules) => getsCpus(pod, rules));
}

function getsCpus(pod: PodToPlace, rules: NodeRules): boolean {
  return cpuOf(needsOf(pod, rules).request) > 0;
}

/** Of a node that has published nothing yet: those of a node with defaults, where pods may choose. */
const DEFAULT_RULES: NodeRules = { ...PLAIN_RULES, podPolicies: POLICY_NAMES };

const WIDEST_RULES: readonly NodeRules[] = POLICY_NAMES.map((policy) => ({ ...PLAIN_RULES, policy }));

interface Wish {
  readonly isTogether: boolean;
  readonly strategy: Strategy;
}

/** Each container gets CPUs of its own, where the result says, as far as the topology manager lets it. */
function fitEach(needs: PodNeeds, rules: NodeRules, free: FreeRoom, { isTogether, strategy }: Wish): Fit {
  const torn = findTornCore(needs, rules);
  if (torn) return noFit(torn);
  const zones = rules.cpusPerCore > 1 ? free.byCore : free.byCpu;
  const tooMuch = exceeds(needs, free.bound);
  if (tooMuch) return noFit(tooMuch);
  if (!isStrict(rules.topologyPolicy))
    return fitOf(isTogether ? chooseOneZone(needs, zones, strategy) : spreadOverZones(needs, zones, strategy), zones);
  const counts = countsOf(zones, free.bound);
  if (counts.free.length > MAX_ALLOWABLE_NUMA_NODES) return noFit(notAligned(needs));
  const oneZone = chooseOneZone(needs, zones, strategy);
  if ('grants' in oneZone || isTogether || !canRehearse(counts, needs)) return fitOf(oneZone, zones);
  const alone = rehearse(counts, needs, rules);
  const spread = spreadOverZones(needs, zones, strategy);
  for (const taken of [alone.taken, 'grants' in spread ? takenBy(spread.grants, zones) : undefined]) {
    const grants = taken && grantsOf(needs, taken, zones);
    if (grants && isFollowed(counts, needs, rules, taken)) return fitOf({ grants }, zones);
  }
  return alone.obstacle ? noFit(alone.obstacle) : fitOf(oneZone, zones);
}

/** True when the pod starts with this result, and surely has its CPUs where the result says. */
function isFollowed(counts: ZoneCounts, needs: PodNeeds, rules: NodeRules, result: readonly number[]): boolean {
  const { taken } = rehearse(counts, needs, rules, result);
  return taken?.every((cpus, i) => cpus <= (result[i] ?? 0)) === true;
}

/**
 * True for a pod that may be started container by container on counts: each costs a look at all combinations of zones,
 * and a pod may have thousands. Others have to fit into one zone.
 */
function canRehearse({ free }: ZoneCounts, { containers }: PodNeeds): boolean {
  return containers.length <= MAX_REHEARSED && containers.length * 2 ** free.length <= MAX_COMBINATIONS;
}

const MAX_REHEARSED = 32;
/** About a millisecond of CPU time. */
const MAX_COMBINATIONS = 1_024;

/** The machine has more NUMA nodes than a topology manager compares, as after hotplug. */
function notAligned({ request }: PodNeeds): Obstacle {
  return { kind: 'too-little', container: '', resource: CPU, wanted: cpuOf(request), available: 0, zones: 1 };
}

/**
 * All containers get one set, as the result says. The policy's options and the topology manager do not count for it.
 */
function fitSet(needs: PodNeeds, free: FreeRoom, { isTogether, strategy }: Wish): Fit {
  const zones = free.byCpu;
  const tooMuch =
    POLICY_TABLE[needs.containers[0]!.policy].claim === 'exclusive' ? exceeds(needs, free.bound) : undefined;
  if (tooMuch) return noFit(tooMuch);
  return fitOf(isTogether ? chooseOneZone(needs, zones, strategy) : spreadOverZones(needs, zones, strategy), zones);
}

/** The node chooses alone: no result is written. */
function fitAlone(needs: PodNeeds, rules: NodeRules, free: FreeRoom): Fit {
  const torn = findTornCore(needs, rules);
  if (torn) return noFit(torn);
  const zones = rules.cpusPerCore > 1 ? free.byCore : free.byCpu;
  const counts = countsOf(zones, free.bound);
  if (isStrict(rules.topologyPolicy) && counts.free.length > MAX_ALLOWABLE_NUMA_NODES) return noFit(notAligned(needs));
  if (isStrict(rules.topologyPolicy) && !canRehearse(counts, needs)) {
    const tooMuch = exceeds(needs, free.bound);
    const oneZone = chooseOneZone({ ...needs, others: [] }, zones, 'LeastAllocated');
    return tooMuch ? noFit(tooMuch) : fitOf('grants' in oneZone ? { grants: [] } : oneZone, zones);
  }
  const { obstacle } = rehearse(counts, needs, rules);
  return obstacle ? noFit(obstacle) : fitOf({ grants: [] }, zones);
}

function findTornCore({ containers }: PodNeeds, { cpusPerCore }: NodeRules): Obstacle | undefined {
  if (cpusPerCore === 1) return undefined;
  const torn = containers.find(({ policy, count }) => POLICY_TABLE[policy].takesOptions && count % cpusPerCore !== 0);
  return torn && { kind: 'split-core', container: torn.name, count: torn.count, cpusPerCore };
}

function exceeds({ request }: PodNeeds, bound: number): Obstacle | undefined {
  const wanted = cpuOf(request);
  return wanted > bound ? { kind: 'too-little', container: '', resource: CPU, wanted, available: bound } : undefined;
}

/** Zones without CPUs take no part. */
function countsOf(zones: readonly FreeZone[], bound: number): ZoneCounts {
  const withCpus = zones.filter(hasCpus);
  return {
    capacity: withCpus.map(({ capacityCpu }) => capacityCpu / 1_000),
    free: withCpus.map(({ cpu }) => cpu / 1_000),
    bound: bound === Infinity ? sumFree(withCpus, CPU) / 1_000 : Math.floor(bound / 1_000),
  };
}

const hasCpus = ({ capacityCpu }: FreeZone): boolean => capacityCpu > 0;

function takenBy(grants: readonly ZoneGrant[], zones: readonly FreeZone[]): readonly number[] {
  const cpus = new Map(grants.map(({ zone, amounts }) => [zone, cpuOf(amounts) / 1_000]));
  return zones.filter(hasCpus).map(({ name }) => cpus.get(name) ?? 0);
}

/**
 * The result that names these CPUs; the other resources come from the same zones. Undefined where those have too
 * little.
 */
function grantsOf(
  needs: PodNeeds,
  taken: readonly number[],
  zones: readonly FreeZone[],
): readonly ZoneGrant[] | undefined {
  const chosen = zones.filter(hasCpus).map((zone, i) => ({ ...zone, cpu: (taken[i] ?? 0) * 1_000 })).filter(({ cpu }) => cpu > 0); // prettier-ignore
  const request = new Map([...needs.request, [CPU, sumFree(chosen, CPU)]]);
  const choice = spreadOverZones({ ...needs, request }, chosen, 'LeastAllocated');
  return 'grants' in choice && chosen.length > 0 ? choice.grants : undefined;
}

function fitOf(choice: Choice, zones: readonly FreeZone[]): Fit {
  if ('obstacle' in choice) return noFit(choice.obstacle);
  let [allocatable, free] = [0, 0];
  // A loop, since thousands of nodes are asked for each pod.
  for (const { zone, amounts } of choice.grants)
    for (const { name, allocatableCpu, cpu } of zones) {
      if (name !== zone) continue;
      allocatable += allocatableCpu;
      free += cpu - cpuOf(amounts);
    }
  return { kind: 'fit', grants: choice.grants, left: { allocatable, free } };
}

const noFit = (obstacle: Obstacle): Fit => ({ kind: 'no-fit', obstacle });

const SKIPPED = {
  daemonSet: { kind: 'skip', because: 'the pod is of a DaemonSet' },
  noWholeCpus: { kind: 'skip', because: 'no container of the pod wants whole CPUs' },
  shares: { kind: 'skip', because: 'no container of the pod gets CPUs of its own on the node' },
  notStatic: { kind: 'skip', because: 'the node chooses CPUs itself' },
} as const satisfies Record<string, Fit>;
