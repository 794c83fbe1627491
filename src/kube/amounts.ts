import { CPU, type Amounts } from '../core/fit';
import { parseMilli, parseWhole } from './quantity';

/** Most resources of one list; a longer one is cut. */
const MAX_RESOURCES = 64;

/** Reads a Kubernetes ResourceList. Resources whose quantity can't be read, or is negative, are left out. */
export function readAmounts(list: Readonly<Record<string, unknown>>): Amounts {
  const amounts = new Map<string, number>();
  for (const [resource, quantity] of Object.entries(list).slice(0, MAX_RESOURCES)) {
    const amount = readAmount(resource, quantity);
    if (amount !== undefined) amounts.set(resource, amount);
  }
  return amounts;
}

/** Undefined for a quantity that can't be read, or is negative. */
export function readAmount(resource: string, quantity: unknown): number | undefined {
  return resource === CPU ? parseMilli(quantity) : parseWhole(quantity);
}

/** The quantity of an amount as Kubernetes writes it: CPU as `2` or `1500m`, others as a number. */
export function formatAmount(resource: string, amount: number): string {
  return resource !== CPU ? String(amount) : amount % 1_000 === 0 ? String(amount / 1_000) : `${amount}m`;
}
