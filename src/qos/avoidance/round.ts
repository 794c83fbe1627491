import type { QosPod } from '../objects/objects';
import { leftFor } from './budget';
import type { EvictionStep, Skipped, StepPod, ThrottleStep } from './plan';
import type { AvoidanceOptions, AvoidanceOrder } from './situation';
import type { Resource } from './gap';

/** The reason for which a budget allows no step. */
export interface NoBudget {
  readonly because: string;
  /** Only the share of this namespace is spent. */
  readonly shareOf?: string;
}

/** The steps that one round has planned so far. */
export class Round {
  readonly evictions: EvictionStep[] = [];
  readonly throttles: ThrottleStep[] = [];
  /** Amounts that the steps so far release, in milli-CPU and bytes. */
  readonly released: Record<Resource, number> = { cpu: 0, memory: 0 };
  private readonly reasons = new Map<string, Skipped>();
  /** The spent part of the hour's budgets, this round included, by namespace. */
  private readonly spent: Readonly<Record<'actions' | 'evictions', Map<string, number>>>;

  /** `tenants`: the namespaces that share the budgets. */
  constructor(
    private readonly options: AvoidanceOptions,
    private readonly tenants: ReadonlySet<string>,
  ) {
    const spentOf = (what: 'actions' | 'evictions'): Map<string, number> =>
      new Map([...options.spentBy].map(([namespace, spent]) => [namespace, spent[what]]));
    this.spent = { actions: spentOf('actions'), evictions: spentOf('evictions') };
  }

  evict(step: EvictionStep): void {
    this.evictions.push(step);
    this.spend('actions', step.pod.namespace);
    this.spend('evictions', step.pod.namespace);
  }

  throttle(step: ThrottleStep): void {
    this.throttles.push(step);
    this.spend('actions', step.pod.namespace);
  }

  skip(subject: string, because: string, beyond?: Pick<Skipped, 'beyondBudget' | 'shareOf'>): void {
    this.reasons.set(`${subject} ${because}`, { subject, because, ...beyond });
  }

  get skipped(): readonly Skipped[] {
    return [...this.reasons.values()];
  }

  /** The reason for which no further action against a pod of this namespace fits the budgets; undefined = one does. */
  whyNoAction(namespace: string): NoBudget | undefined {
    const used = this.evictions.length + this.throttles.length;
    return this.whySpent('actions', namespace, used, this.options.actionsLeft);
  }

  whyNoEviction(namespace: string): NoBudget | undefined {
    const { evictionsLeft } = this.options;
    return this.whySpent('evictions', namespace, this.evictions.length, evictionsLeft) ?? this.whyNoAction(namespace);
  }

  private whySpent(what: 'actions' | 'evictions', namespace: string, used: number, left: number): NoBudget | undefined {
    if (used >= left) return { because: `the budget of ${what} is used: ${used} of ${Math.max(0, left)}` };
    const spentBy = this.spent[what];
    if (leftFor(namespace, { left: left - used, spentBy }, this.tenants) >= 1) return undefined;
    const own = spentBy.get(namespace) ?? 0;
    const because = `its namespace has used its share of the budget of ${what}: ${own} in this hour`;
    return { because, shareOf: namespace };
  }

  private spend(what: 'actions' | 'evictions', namespace: string): void {
    this.spent[what].set(namespace, (this.spent[what].get(namespace) ?? 0) + 1);
  }
}

/** For `skip`: the step that a budget does not allow. */
export function beyond(
  beyondBudget: 'evict' | 'throttle',
  { shareOf }: NoBudget,
): Pick<Skipped, 'beyondBudget' | 'shareOf'> {
  return { beyondBudget, ...(shareOf !== undefined && { shareOf }) };
}

export function nameOf({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `${namespace}/${name}`;
}

export function stepPod({ uid, namespace, name }: QosPod): StepPod {
  return { uid, namespace, name };
}

/** The beginning of a reason: the rule, and its metric above the watermark. */
export function describeOrder({ rule, metric, threshold, values }: AvoidanceOrder): string {
  const value = values.length > 0 ? formatNumber(Math.max(...values)) : 'unknown';
  return `${rule}: ${metric} is ${value}, threshold ${formatNumber(threshold)}`;
}

/** Two decimals at most. */
export function formatNumber(value: number): string {
  return String(Math.round(value * 100) / 100);
}

/** `none`, or the quota in µs. */
export function formatQuota(quotaUs: number): string {
  return quotaUs > 0 ? `${quotaUs} us` : 'none';
}
