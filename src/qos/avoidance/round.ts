import type { QosPod } from '../objects/objects';
import type { EvictionStep, Skipped, StepPod, ThrottleStep } from './plan';
import type { AvoidanceOptions, AvoidanceOrder } from './situation';
import type { Resource } from './gap';

/** The steps that one round has planned so far. */
export class Round {
  readonly evictions: EvictionStep[] = [];
  readonly throttles: ThrottleStep[] = [];
  /** Amounts that the steps so far release, in milli-CPU and bytes. */
  readonly released: Record<Resource, number> = { cpu: 0, memory: 0 };
  private readonly reasons = new Map<string, Skipped>();

  constructor(private readonly options: AvoidanceOptions) {}

  skip(subject: string, because: string, beyondBudget?: Skipped['beyondBudget']): void {
    this.reasons.set(`${subject} ${because}`, { subject, because, ...(beyondBudget && { beyondBudget }) });
  }

  get skipped(): readonly Skipped[] {
    return [...this.reasons.values()];
  }

  /** The reason for which no further action fits the budgets; undefined = one does. */
  get whyNoAction(): string | undefined {
    const { actionsLeft } = this.options;
    const used = this.evictions.length + this.throttles.length;
    return used < actionsLeft ? undefined : `the budget of actions is used: ${used} of ${Math.max(0, actionsLeft)}`;
  }

  get whyNoEviction(): string | undefined {
    const { evictionsLeft } = this.options;
    const used = this.evictions.length;
    return used < evictionsLeft
      ? this.whyNoAction
      : `the budget of evictions is used: ${used} of ${Math.max(0, evictionsLeft)}`;
  }
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
