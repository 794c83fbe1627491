import type { QosClass } from '../model/pod-kinds';

/** Resources of one container of a pod spec: resource name → amount in any unit that is the same throughout. */
export interface SpecResources {
  readonly requests?: Readonly<Record<string, number>>;
  readonly limits?: Readonly<Record<string, number>>;
}

const COUNTED = ['cpu', 'memory'] as const;

/**
 * The QoS class of a pod from the resources of its init and app containers (not of ephemeral ones), by the kubelet's
 * rule: only cpu and memory count, and zero is the same as absent. Resources of the pod as a whole, where it has some,
 * replace those of its containers. Requests that default to limits must be filled in, as the API server does.
 */
export function classifyQos(containers: readonly SpecResources[], podLevel?: SpecResources): QosClass {
  const considered = podLevel ? [podLevel] : containers;
  const sums = COUNTED.map((resource) => ({
    requested: sumOf(considered, (container) => container.requests?.[resource]),
    limited: sumOf(considered, (container) => container.limits?.[resource]),
  }));
  if (sums.every(({ requested, limited }) => requested === 0 && limited === 0)) return 'BestEffort';

  const everyoneLimited = considered.every((c) => COUNTED.every((resource) => (c.limits?.[resource] ?? 0) > 0));
  const equal = sums.every(({ requested, limited }) => requested === limited);
  return everyoneLimited && equal ? 'Guaranteed' : 'Burstable';
}

/**
 * The QoS class that an OOM score adjustment gives away, or `unknown`: the score of Guaranteed pods is also that of
 * node-critical pods of every class, so it proves nothing.
 */
export function qosOfOomScore(oomScoreAdj: number | undefined): QosClass | 'unknown' {
  if (oomScoreAdj === 1000) return 'BestEffort';
  if (oomScoreAdj !== undefined && oomScoreAdj >= 2 && oomScoreAdj <= 999) return 'Burstable';
  return 'unknown';
}

function sumOf(
  containers: readonly SpecResources[],
  amountOf: (container: SpecResources) => number | undefined,
): number {
  return containers.reduce((sum, container) => sum + Math.max(0, amountOf(container) ?? 0), 0);
}
