import type { AvoidanceAction, PodQos, QosContainer, QosPod } from '../../../src/qos/objects/objects';
import type { Metrics } from '../../../src/qos/usage/metrics';
import type { AvoidanceOrder, AvoidanceSituation, ContainerState } from '../../../src/qos/avoidance/situation';

export const NOW = 1_800_000_000_000;

export function makeAction(over: Partial<AvoidanceAction> & { readonly name: string }): AvoidanceAction {
  return { coolDownSeconds: 300, ...over };
}

export const THROTTLE = makeAction({ name: 'throttle', throttle: { minCpuRatio: 50, stepCpuRatio: 10 } });
export const EVICT = makeAction({ name: 'evict', eviction: {} });

export function makeOrder(over: Partial<AvoidanceOrder> = {}): AvoidanceOrder {
  return {
    rule: 'node/cpu',
    metric: 'cpu_total_usage',
    threshold: 6000,
    values: [],
    action: THROTTLE,
    isPreview: false,
    ...over,
  };
}

export function makePod(name: string, over: Partial<QosPod> = {}, container: Partial<QosContainer> = {}): QosPod {
  return {
    uid: `uid-${name}`,
    runtimeUid: `uid-${name}`,
    namespace: 'shop',
    name,
    labels: {},
    qos: 'Burstable',
    priority: 0,
    isCritical: false,
    isStatic: false,
    phase: 'Running',
    isBeingDeleted: false,
    startedAtMs: 0,
    containers: [{ name: 'main', ...container }],
    ...over,
  };
}

/** The container `main` of a pod of `makePod`. */
export function makeContainer(pod: string, over: Partial<ContainerState> = {}): ContainerState {
  return {
    id: `id-${pod}`,
    podUid: `uid-${pod}`,
    name: 'main',
    isPinned: false,
    milliCpu: 1000,
    memoryBytes: 1000,
    quotaUs: 200_000,
    periodUs: 100_000,
    ...over,
  };
}

/** This PodQOS allows all actions that tests use, for all pods but those with the label `spared`. */
export const EVERY_ACTION: PodQos = { name: 'all', scopes: [], allowedActions: ['throttle', 'evict', 'both', 'other'] };

export function metrics(values: Readonly<Record<string, number>>): Metrics {
  return new Map(Object.entries(values).map(([name, value]) => [name, [{ labels: {}, value, atMs: NOW }]]));
}

export function makeSituation(over: Partial<AvoidanceSituation> = {}): AvoidanceSituation {
  return {
    triggered: [],
    restored: [],
    actingRules: [...(over.triggered ?? []), ...(over.restored ?? [])].map(({ rule }) => rule),
    pods: [],
    podQoses: [EVERY_ACTION],
    podMatches: (_, pod) => pod.labels?.spared === undefined,
    containers: [],
    cores: 8,
    totalMemoryBytes: 100_000,
    metrics: metrics({ cpu_total_usage: 7000 }),
    throttles: [],
    yielded: [],
    options: { excess: 0.1, actionsLeft: 100, evictionsLeft: 100, spentBy: new Map() },
    nowMs: NOW,
    ...over,
  };
}
