import { sum } from '../../core/sum';
import type { AvoidanceOptions, SpentBudget } from './situation';

/** A budget of the hour. */
export interface Budget {
  readonly left: number;
  /** The spent part of it, by the namespace of the pod that was hit; empty text = of the Node. */
  readonly spentBy: ReadonlyMap<string, number>;
}

/**
 * Returns how much a namespace may spend now. Half of the budget of an hour is divided into equal shares of the
 * namespaces whose pods actions may be taken against (`tenants`), and what others have not spent of theirs is kept for
 * them. The other half is for whoever needs it first. So no namespace can use up what others need, and one that is
 * alone has all of it. Shares of less than one action are kept together.
 */
export function leftFor(namespace: string, { left, spentBy }: Budget, tenants: ReadonlySet<string>): number {
  const whole = left + sum([...spentBy.values()]);
  const parts = 2 * tenants.size; // whole numbers: the order of the sum must not matter
  const others = [...tenants].filter((tenant) => tenant !== namespace);
  const kept = sum(others.map((other) => Math.max(0, whole - parts * (spentBy.get(other) ?? 0))));
  return left - Math.floor(kept / parts);
}

/** The part of the hour's budget that is spent. */
export interface Spent extends SpentBudget {
  /** The same for each namespace; empty text = of the Node. */
  readonly by: ReadonlyMap<string, SpentBudget>;
}

/** The limits that the operator has set. */
export interface Limits {
  readonly qosActionsPerHour: number;
  readonly qosEvictionsPerHour: number;
  /** Per cent. */
  readonly executeExcess: number;
}

/** The options of a plan, with the rest of the hour's budget. */
export function optionsWithinBudget(limits: Limits, spent: Spent): AvoidanceOptions {
  return {
    excess: limits.executeExcess / 100,
    actionsLeft: Math.max(0, limits.qosActionsPerHour - spent.actions),
    evictionsLeft: Math.max(0, limits.qosEvictionsPerHour - spent.evictions),
    spentBy: spent.by,
  };
}

/** The options when the Node has got the taint, which is an action too. */
export function chargeTaint({ actionsLeft, spentBy, ...options }: AvoidanceOptions): AvoidanceOptions {
  const { actions = 0, evictions = 0 } = spentBy.get('') ?? {};
  const spent = actionsLeft > 0 ? actions + 1 : actions;
  return {
    ...options,
    actionsLeft: Math.max(0, actionsLeft - 1),
    spentBy: new Map([...spentBy, ['', { actions: spent, evictions }]]),
  };
}
