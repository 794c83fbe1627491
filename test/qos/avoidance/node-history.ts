import type { QosContainer, QosPod } from '../../../src/qos/objects/objects';
import type { AvoidancePlan, ThrottleStep } from '../../../src/qos/avoidance/plan';
import { planAvoidance } from '../../../src/qos/avoidance/plan-avoidance';
import { planUndoAll } from '../../../src/qos/avoidance/plan-restores';
import type { AvoidanceOrder, ContainerState, Throttle, Yielded } from '../../../src/qos/avoidance/situation';
import type { Random } from '../../support/random';
import { makeAction, metrics, NOW } from './builders';
import { randomPod } from './random-situation';

const PERIOD_US = 100_000;

interface SimulatedContainer {
  readonly id: string;
  readonly pod: QosPod;
  spec: QosContainer;
  /** In milli-CPU; the quota limits what is used of it. */
  demand: number;
  isPinned: boolean;
  /** The quota that the kubelet, or cpusetd for a pinned container, set last. */
  ownUs: number;
  kernelUs: number;
}

/**
 * A node whose containers use CPU as their quotas allow, and whose rules fire by it. Writes fail, and the daemon dies
 * between them.
 */
export class NodeHistory {
  containers: SimulatedContainer[] = [];
  throttles: readonly Throttle[] = [];
  yielded: readonly Yielded[] = [];
  readonly minRatios: readonly number[];
  private rules: readonly AvoidanceOrder[];
  private created = 0;

  constructor(private readonly random: Random) {
    const actions = ['soft', 'hard', 'all'].map((name) =>
      makeAction({
        name,
        throttle: { minCpuRatio: random.pick([0, 30, 60]), stepCpuRatio: random.pick([5, 10, 35]) },
        ...(name === 'all' && { eviction: {} }),
      }),
    );
    this.minRatios = actions.map(({ throttle }) => throttle!.minCpuRatio);
    this.rules = Array.from({ length: random.int(1, 3) }, (_, index) => ({
      rule: `node/r${index}`,
      metric: random.pick(['cpu_total_usage', 'cpu_total_usage', 'cpu_load_1_min']),
      threshold: random.int(5, 50) * 100,
      values: [],
      action: random.pick(actions),
      isPreview: false,
    }));
    for (let pod = random.int(2, 5); pod > 0; pod--) this.createPod();
  }

  get used(): number {
    return this.containers.reduce((total, container) => total + useOf(container), 0);
  }

  /**
   * Something happens to the node: load, new and deleted pods, resizes, pinning, a deleted rule, a reload of systemd.
   */
  disturb(): void {
    const { random } = this;
    for (const container of this.containers) if (random.chance(0.3)) container.demand = random.int(0, 25) * 100;
    const container = this.containers.length > 0 ? random.pick(this.containers) : undefined;
    if (random.chance(0.1)) this.createPod();
    if (container && random.chance(0.05)) this.deletePod(container.pod.uid);
    if (container && random.chance(0.1)) resize(container, random.pick([500, 1000, 2000, undefined]));
    if (container && random.chance(0.05)) {
      container.isPinned = true;
      container.kernelUs = container.ownUs = -1;
    }
    if (random.chance(0.02)) this.rules = this.rules.slice(1);
    if (random.chance(0.05)) for (const each of this.containers) each.kernelUs = roundAsSystemd(each.kernelUs);
  }

  /** One round of the daemon. @returns its plan, and the steps that were written */
  playRound({ isReliable }: { readonly isReliable: boolean }): {
    plan: AvoidancePlan;
    written: readonly ThrottleStep[];
  } {
    const { random, used } = this;
    const reported = this.rules.filter(() => isReliable || random.chance(0.85));
    const budgets = {
      excess: 0.1,
      actionsLeft: isReliable ? 99 : random.pick([1, 4]),
      evictionsLeft: random.pick([0, 0, 1]),
      spentBy: new Map(),
    };
    const plan = planAvoidance({
      triggered: reported.filter(({ threshold }) => used > threshold),
      restored: reported.filter(({ threshold }) => used <= threshold),
      actingRules: this.rules.map(({ rule }) => rule),
      pods: this.pods,
      podQoses: [
        { name: 'g0', scopes: [], allowedActions: ['soft', 'all'] },
        { name: 'g1', scopes: [], allowedActions: ['soft', 'hard'] },
        { name: 'g2', scopes: [], allowedActions: ['hard', 'all'] },
      ],
      podMatches: (podQos, pod) => pod.labels?.group === podQos.name,
      containers: this.containers.map((container) => stateOf(container, isReliable || random.chance(0.95))),
      cores: 8,
      metrics: metrics({ cpu_total_usage: used, cpu_load_1_min: used }),
      throttles: this.throttles,
      yielded: this.yielded,
      options: budgets,
      nowMs: NOW,
    });
    this.throttles = plan.throttled;
    this.yielded = plan.yielded;
    const steps = [...plan.throttles, ...plan.restores];
    const reached = isReliable || random.chance(0.9) ? steps.length : random.int(0, steps.length);
    const written = steps.slice(0, reached).filter(() => isReliable || random.chance(0.9));
    this.write(written);
    for (const { pod } of plan.evictions) if (random.chance(0.7)) this.deletePod(pod.uid);
    return { plan, written };
  }

  undoAll(): void {
    this.write(
      planUndoAll(
        this.throttles,
        this.containers.map((container) => stateOf(container, true)),
      ).restores,
    );
    this.throttles = [];
  }

  private get pods(): readonly QosPod[] {
    const specs = (pod: QosPod) => this.containers.filter((container) => container.pod === pod).map(({ spec }) => spec);
    return [...new Set(this.containers.map(({ pod }) => pod))].map((pod) => ({ ...pod, containers: specs(pod) }));
  }

  private write(steps: readonly ThrottleStep[]): void {
    for (const { id, toUs } of steps) this.containers.find((container) => container.id === id)!.kernelUs = toUs;
  }

  private createPod(): void {
    const pod = randomPod(this.random, this.created++);
    for (const spec of pod.containers) {
      const ownUs = quotaOf(spec);
      const demand = this.random.int(0, 25) * 100;
      const isPinned = this.random.chance(0.1);
      this.containers.push({ id: `${pod.uid}-${spec.name}`, pod, spec, demand, isPinned, ownUs, kernelUs: ownUs });
    }
  }

  private deletePod(uid: string): void {
    this.containers = this.containers.filter(({ pod }) => pod.uid !== uid);
  }
}

/** The kubelet resizes a container in place: its limit, and its request with it. */
function resize(container: SimulatedContainer, limitMilliCpu: number | undefined): void {
  const { name } = container.spec;
  container.spec = limitMilliCpu === undefined ? { name } : { name, limitMilliCpu, requestMilliCpu: limitMilliCpu / 4 };
  if (!container.isPinned) container.kernelUs = container.ownUs = quotaOf(container.spec);
}

function quotaOf({ limitMilliCpu }: QosContainer): number {
  return limitMilliCpu === undefined ? -1 : (limitMilliCpu * PERIOD_US) / 1000;
}

function useOf({ demand, kernelUs }: SimulatedContainer): number {
  return kernelUs > 0 ? Math.min(demand, (kernelUs * 1000) / PERIOD_US) : demand;
}

/** systemd keeps quotas in whole hundredths of a CPU, and writes them again when it is reloaded. */
function roundAsSystemd(quotaUs: number): number {
  return quotaUs > 0 ? Math.ceil(quotaUs / 1000) * 1000 : quotaUs;
}

function stateOf(container: SimulatedContainer, isRead: boolean): ContainerState {
  const { id, pod, spec, isPinned, kernelUs } = container;
  return {
    id,
    podUid: pod.uid,
    name: spec.name,
    isPinned,
    ...(isRead && { milliCpu: useOf(container), memoryBytes: 0, quotaUs: kernelUs, periodUs: PERIOD_US }),
  };
}
