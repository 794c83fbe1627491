import type { AvoidanceAction, PodQos, QosContainer, QosPod } from '../../../src/qos/objects/objects';
import type {
  AvoidanceOrder,
  AvoidanceSituation,
  ContainerState,
  Throttle,
} from '../../../src/qos/avoidance/situation';
import type { Random } from '../../support/random';
import { metrics, NOW } from './builders';

const METRICS = [
  'cpu_total_usage',
  'cpu_total_usage',
  'cpu_total_usage',
  'cpu_total_utilization',
  'memory_total_usage',
  'memory_total_utilization',
  'cpu_load_1_min',
] as const;

const ACTIONS = ['soft', 'hard', 'out', 'all'] as const;

/** Any situation of a small node: few values, so that ties and values at a bound are frequent. */
export function randomSituation(random: Random): AvoidanceSituation {
  const maybe = <T>(probability: number, make: () => T): T | undefined =>
    random.chance(probability) ? make() : undefined;
  const pods = Array.from({ length: random.int(0, 7) }, (_, index) => withInit(random, randomPod(random, index)));
  const containers = pods.flatMap((pod) =>
    pod.containers.filter(() => random.chance(0.95)).map((spec) => randomContainer(random, pod, spec)),
  );
  const actions = ACTIONS.map((name) => randomAction(random, name));
  const rules = Array.from({ length: 6 }, (_, index) => `node/r${index}`);
  const orders = rules.map((rule) => randomOrder(random, rule, actions));
  const triggered = orders.filter(() => random.chance(0.4));
  const restored = orders.filter((order) => !triggered.includes(order) && random.chance(0.7));
  const totalMemoryBytes = maybe(0.9, () => 8000);
  return {
    triggered,
    restored,
    actingRules: orders.filter(({ isPreview }) => !isPreview && random.chance(0.9)).map(({ rule }) => rule),
    pods,
    podQoses: Array.from({ length: random.int(1, 3) }, (_, index) => randomPodQos(random, index)),
    podMatches: (podQos, pod) => podQos.name === 'every' || pod.labels?.group === podQos.name,
    containers,
    cores: 8,
    ...(totalMemoryBytes && { totalMemoryBytes }),
    metrics: metrics(
      Object.fromEntries(
        [
          ['cpu_total_usage', random.int(0, 80) * 100],
          ['cpu_total_utilization', random.int(0, 100)],
          ['memory_total_usage', random.int(0, 80) * 100],
          ['memory_total_utilization', random.int(0, 100)],
          ['cpu_load_1_min', random.int(0, 20)],
        ].filter(() => random.chance(0.93)),
      ),
    ),
    throttles: containers.flatMap((container) => {
      const pod = pods.find(({ uid }) => uid === container.podUid)!;
      return random.chance(0.5) ? [randomThrottle(random, pod, container, rules)] : [];
    }),
    yielded: containers
      .filter(() => random.chance(0.1))
      .map(({ id }) => ({ id, rules: rules.filter(() => random.chance(0.3)) })),
    options: {
      excess: random.pick([0, 0.25, 0.5]),
      actionsLeft: random.pick([0, 1, 3, 99, 99]),
      evictionsLeft: random.pick([0, 1, 99]),
      spentBy: new Map(
        ['', 'x', 'y'].map((namespace) => {
          const actions = random.pick([0, 0, 1, 3]);
          return [namespace, { actions, evictions: namespace === '' ? 0 : random.int(0, actions) }];
        }),
      ),
    },
    nowMs: NOW,
  };
}

export function randomPod(random: Random, index: number): QosPod {
  const rarely = (): boolean => random.chance(0.05);
  return {
    uid: `u${index}`,
    runtimeUid: `u${index}`,
    namespace: random.pick(['x', 'y']),
    name: `p${index}`,
    labels: { group: random.pick(['g0', 'g1', 'g2']) },
    qos: random.pick(['BestEffort', 'Burstable', 'Burstable', 'Burstable', 'Guaranteed']),
    priority: random.pick([0, 0, 10]),
    isCritical: rarely(),
    isStatic: rarely(),
    phase: rarely() ? random.pick(['Pending', 'Succeeded', 'Failed']) : 'Running',
    isBeingDeleted: rarely(),
    ...(random.chance(0.5) && { graceSeconds: random.pick([0, 30, 60]) }),
    startedAtMs: random.pick([1, 2]),
    containers: Array.from({ length: random.int(1, 2) }, (_, number) => randomSpec(random, `c${number}`)),
  };
}

/** The first of several containers may be an init container that runs. */
function withInit(random: Random, pod: QosPod): QosPod {
  const [first, ...others] = pod.containers;
  if (others.length === 0 || !random.chance(0.2)) return pod;
  return { ...pod, containers: [{ ...first!, isInit: true }, ...others] };
}

function randomSpec(random: Random, name: string): QosContainer {
  return {
    name,
    ...(random.chance(0.6) && { requestMilliCpu: random.pick([0, 100, 300, 1000]) }),
    ...(random.chance(0.6) && { limitMilliCpu: random.pick([400, 1000, 2000]) }),
    ...(random.chance(0.2) && { elasticLimitMilliCpu: random.pick([500, 1000]) }),
    ...(random.chance(0.2) && { elasticLimitMemoryBytes: random.pick([500, 1000]) }),
  };
}

function randomContainer(random: Random, pod: QosPod, spec: QosContainer): ContainerState {
  const quotaUs = random.pick([-1, 0, 1000, 10_000, 40_000, 41_000, 80_000, 100_000, 200_000]);
  const periodUs = random.pick([100_000, 100_000, 50_000]);
  // Many use all that they may: others would not be throttled.
  const isBusy = quotaUs > 0 && random.chance(0.7);
  const milliCpu = isBusy ? (quotaUs * 1000) / periodUs : random.pick([0, 5, 100, 400, 700, 1000, 1900]);
  return {
    id: `${pod.uid}-${spec.name}`,
    podUid: pod.uid,
    name: spec.name,
    isPinned: random.chance(0.1),
    ...(random.chance(0.95) && { milliCpu }),
    ...(random.chance(0.95) && { memoryBytes: random.pick([0, 100, 400, 400, 1500]) }),
    ...(random.chance(0.97) && { quotaUs }),
    ...(random.chance(0.97) && { periodUs }),
  };
}

function randomAction(random: Random, name: string): AvoidanceAction {
  return {
    name,
    coolDownSeconds: 300,
    ...(name !== 'out' && {
      throttle: { minCpuRatio: random.pick([0, 0, 20, 50, 90]), stepCpuRatio: random.pick([0, 1, 10, 35, 35, 100]) },
    }),
    ...((name === 'out' || name === 'all') && {
      eviction: random.chance(0.5) ? { graceSeconds: random.pick([0, 10, 20]) } : {},
    }),
  };
}

function randomOrder(random: Random, rule: string, actions: readonly AvoidanceAction[]): AvoidanceOrder {
  const metric = random.pick(METRICS);
  return {
    rule,
    metric,
    threshold: metric.endsWith('_usage') ? random.int(0, 80) * 100 : random.int(0, 100),
    values: [],
    action: random.pick(actions),
    isPreview: random.chance(0.1),
  };
}

function randomPodQos(random: Random, index: number): PodQos {
  return {
    name: random.chance(0.4) ? 'every' : `g${index}`,
    scopes: [],
    allowedActions: ACTIONS.filter(() => random.chance(0.7)),
  };
}

function randomThrottle(random: Random, pod: QosPod, container: ContainerState, rules: readonly string[]): Throttle {
  const kernelUs = (container.quotaUs ?? 0) > 0 ? container.quotaUs! : 40_000;
  const limit = random.chance(0.85) ? pod.containers.find(({ name }) => name === container.name)!.limitMilliCpu : 1500;
  const causes = rules.filter(() => random.chance(0.3)).map((rule) => ({ rule, action: random.pick(ACTIONS) }));
  return {
    id: random.chance(0.95) ? container.id : `${container.id}-before`,
    podUid: pod.uid,
    namespace: pod.namespace,
    pod: pod.name,
    container: container.name,
    periodUs: random.chance(0.95) ? (container.periodUs ?? 100_000) : 100_000,
    originalUs: random.pick([-1, kernelUs, Math.round(kernelUs * 1.05), 2 * kernelUs]),
    ...(limit !== undefined && { limitMilliCpu: limit }),
    quotaUs: random.pick([kernelUs, kernelUs, kernelUs, kernelUs - 300, 999]),
    previousUs: random.pick([kernelUs, 30_000]),
    ...(random.chance(0.8) && { baseMilliCpu: random.pick([100, 800, 1000]) }),
    causes: causes.length > 0 ? causes : [{ rule: rules[0]!, action: 'soft' }],
    sinceMs: 5,
  };
}
