import { sum } from '../../core/sum';

/** A budget of the hour. */
export interface Budget {
  readonly left: number;
  /** The spent part of it, by the namespace of the pod that was hit; empty text = of the Node. */
  readonly spentBy: ReadonlyMap<string, number>;
}

/**
 * Returns how much a namespace may spend now. Half of the budget of an hour is divided into equal shares of the namespaces whose pods actions may be
 * taken against (`tenants`), and what others have not spent of theirs is kept for them. The other half is for whoever needs it first. So no
 * namespace can use up what others need, and one that is alone has all of it. Shares of less than one action
 * are kept together.
 */
export function leftFor(namespace: string, { left, spentBy }: Budget, tenants: ReadonlySet<string>): number {
  const whole = left + sum([...spentBy.values()]);
  const parts = 2 * tenants.size; // whole numbers: the order of the sum must not matter
  const others = [...tenants].filter((tenant) => tenant !== namespace);
  const kept = sum(others.map((other) => Math.max(0, whole - parts * (spentBy.get(other) ?? 0))));
  return left - Math.floor(kept / parts);
}
