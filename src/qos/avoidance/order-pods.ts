import { sum } from '../../core/sum';
import { compareTexts } from '../../core/text';
import type { QosClass } from '../../core/model/pod-kinds';
import type { QosContainer, QosPod } from '../objects/objects';
import type { Resource } from './gap';

/** A pod with what its containers use; absent = unknown. */
export interface PodUse {
  readonly pod: QosPod;
  readonly milliCpu?: number;
  readonly memoryBytes?: number;
}

type Compare = (a: PodUse, b: PodUse) => number;

const RANKS: Readonly<Record<QosClass, number>> = { BestEffort: 0, Burstable: 1, Guaranteed: 2 };

/**
 * The pods in the order in which they are acted on: for CPU, for memory, or without either. Ties are broken by
 * namespace and name.
 */
export function orderPods(uses: readonly PodUse[], resource: Resource | undefined): PodUse[] {
  const compares = resource ? [...ofResource(FIGURES[resource]), ...LAST] : [byPriority, byClass, ...LAST];
  return [...uses].sort((a, b) => {
    for (const compare of compares) {
      const order = compare(a, b);
      if (order !== 0) return order;
    }
    return 0;
  });
}

export function useOf({ milliCpu, memoryBytes }: PodUse, resource: Resource): number | undefined {
  return resource === 'cpu' ? milliCpu : memoryBytes;
}

const byPriority: Compare = (a, b) => a.pod.priority - b.pod.priority;
const byClass: Compare = (a, b) => RANKS[a.pod.qos] - RANKS[b.pod.qos];

const LAST: readonly Compare[] = [
  (a, b) => b.pod.startedAtMs - a.pod.startedAtMs,
  (a, b) => compareTexts(a.pod.namespace, b.pod.namespace),
  (a, b) => compareTexts(a.pod.name, b.pod.name),
  (a, b) => compareTexts(a.pod.uid, b.pod.uid),
];

interface Figures {
  readonly used: (use: PodUse) => number;
  /** Limit of the elastic resource; 0 = the pod does not use it. */
  readonly elastic: (use: PodUse) => number;
}

const FIGURES: Readonly<Record<Resource, Figures>> = {
  cpu: { used: ({ milliCpu }) => milliCpu ?? 0, elastic: sumOf((container) => container.elasticLimitMilliCpu) },
  memory: {
    used: ({ memoryBytes }) => memoryBytes ?? 0,
    elastic: sumOf((container) => container.elasticLimitMemoryBytes),
  },
};

/** Users of the elastic resource first, lower priority, lower class, more use, a smaller share of the elastic limit. */
function ofResource({ used, elastic }: Figures): readonly Compare[] {
  const share = (use: PodUse): number => (elastic(use) > 0 ? used(use) / elastic(use) : 0);
  return [
    (a, b) => Number(elastic(b) > 0) - Number(elastic(a) > 0),
    byPriority,
    byClass,
    (a, b) => used(b) - used(a),
    (a, b) => share(a) - share(b),
  ];
}

function sumOf(amount: (container: QosContainer) => number | undefined): (use: PodUse) => number {
  return ({ pod }) => sum(pod.containers.filter(({ isInit }) => !isInit).map((container) => amount(container) ?? 0));
}
