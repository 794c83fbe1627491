import { nameOfZone, resultOf, totalOf, type TopologyResult } from '../annotations/topology-result';
import { sumPodCpus, sumPodRequest } from '../model/pod-cpus';
import type { PodSpec } from '../model/pod-spec';
import type { Settings } from '../model/settings';
import { oncePer } from '../once-per';
import { entitledBySpec } from '../decision/entitlement';
import { CPU, NO_AMOUNTS, NO_ZONE_AMOUNTS, type Amounts, type ZoneAmounts } from './amounts';
import { settingsOfRules, type NodeRules } from './node-rules';

/** A bound pod with a topology-result. */
export interface Announcement {
  readonly spec: PodSpec;
  /**
   * The amounts of the result as crane-scheduler reads it, by zone: of each resource but CPU at most what the pod
   * requests.
   */
  readonly zones: ZoneAmounts;
}

const NOTHING: TopologyResult = new Map();

/**
 * The CPUs that a pod's topology-result names on a node with these settings, by NUMA node. None for a result that the
 * node does not follow: one that can't be read, or names more CPUs than the pod's containers are entitled to. The node
 * publishes what it has by this, and schedulers subtract by it: with another reading on one side CPUs would be given
 * twice.
 */
export function cpusOfTopologyResult(settings: Settings, spec: PodSpec): TopologyResult {
  const parsed = resultOf(spec.annotations);
  return parsed?.ok === true && totalOf(parsed.result) <= entitledSum(settings)(spec) ? parsed.announced : NOTHING;
}

const entitledSum = oncePer((settings: Settings) =>
  oncePer((spec: PodSpec): number =>
    sumPodCpus(
      spec.containers.map((container) => ({
        kind: container.kind,
        cpus: entitledBySpec(settings, spec, container)?.count ?? 0,
      })),
    ),
  ),
);

/**
 * The amounts that a pod takes of the zones of its node; without rules of the node each zone counts for at most the CPU
 * that the pod requests in all.
 */
export function useOf({ spec, zones }: Announcement, rules: NodeRules | undefined): ZoneAmounts {
  if (rules) return withCpus(zones, cpusOfTopologyResult(settingsOfRules(rules), spec));
  const most = sumPodRequest(spec);
  if (most === 0) return NO_ZONE_AMOUNTS;
  return new Map(
    [...zones].map(([zone, amounts]) => {
      const cpu = amounts.get(CPU) ?? 0;
      return [zone, cpu <= most ? amounts : new Map([...amounts, [CPU, most]])] as const;
    }),
  );
}

/** The other resources, with the CPUs of these NUMA nodes. */
function withCpus(zones: ZoneAmounts, cpus: TopologyResult): ZoneAmounts {
  const used = new Map<string, Amounts>();
  for (const [zone, amounts] of zones) {
    const others = [...amounts].filter(([resource]) => resource !== CPU);
    if (others.length > 0) used.set(zone, new Map(others));
  }
  for (const [node, count] of cpus) {
    const zone = nameOfZone(node);
    used.set(zone, new Map([...(used.get(zone) ?? NO_AMOUNTS), [CPU, 1_000 * count]]));
  }
  return used;
}
