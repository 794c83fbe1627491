import { sumPodRequest } from '../inference/pod-cpus';
import type { PodSpec } from '../model/pod-spec';
import { CPU, NO_ZONE_AMOUNTS, type ZoneAmounts } from './amounts';
import { settingsOfRules, type NodeRules } from './node-rules';
import { mostAnnounced } from './pod-needs';
import { sum } from '../sum';

/** A bound pod with a topology-result. */
export interface Announcement {
  readonly spec: PodSpec;
  /** The amounts of the result, by zone: of each resource but CPU at most what the pod requests. */
  readonly zones: ZoneAmounts;
}

/**
 * The amounts that a pod takes of the zones of its node. A node with rules follows no result that names more CPUs than the pod's containers are entitled
 * to, and counts none: it publishes what such a pod has as taken by others. Elsewhere each zone counts for at most what the pod requests in all.
 */
export function useOf({ spec, zones }: Announcement, rules: NodeRules | undefined): ZoneAmounts {
  const most = rules ? 1_000 * mostAnnounced(settingsOfRules(rules), spec) : sumPodRequest(spec);
  if (most === 0) return NO_ZONE_AMOUNTS;
  const total = sum([...zones.values()].map((amounts) => amounts.get(CPU) ?? 0));
  if (rules && total > most) return withoutCpu(zones);
  return new Map(
    [...zones].map(([zone, amounts]) => {
      const cpu = amounts.get(CPU) ?? 0;
      return [zone, cpu <= most ? amounts : new Map([...amounts, [CPU, most]])] as const;
    }),
  );
}

function withoutCpu(zones: ZoneAmounts): ZoneAmounts {
  const others = [...zones].map(
    ([zone, amounts]) => [zone, new Map([...amounts].filter(([name]) => name !== CPU))] as const,
  );
  return new Map(others.filter(([, amounts]) => amounts.size > 0));
}
