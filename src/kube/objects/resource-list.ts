import { asObject } from '../json';
import { parseMilli, parseWhole } from '../quantity';

/** Amounts by resource: CPU in thousandths, all others in whole units (bytes). None is above `MAX_AMOUNT`. */
export type ResourceList = ReadonlyMap<string, number>;

const CPU = 'cpu';
/** Most resources of one list besides those of the node itself; more are left out. */
const MAX_OTHERS = 64;

/** Reads a Kubernetes ResourceList. Resources whose quantity can't be read, or is negative, are left out. */
export function readResourceList(list: unknown): ResourceList {
  const amounts = new Map<string, number>();
  let others = 0;
  for (const [resource, quantity] of Object.entries(asObject(list))) {
    // Names of all kinds come before `cpu` and `memory`: these must not be what is left out.
    if (!isOfNode(resource) && ++others > MAX_OTHERS) continue;
    const amount = readAmount(resource, quantity);
    if (amount !== undefined) amounts.set(resource, amount);
  }
  return amounts;
}

/** Undefined for a quantity that can't be read, or is negative. */
export function readAmount(resource: string, quantity: unknown): number | undefined {
  return resource === CPU ? parseMilli(quantity) : parseWhole(quantity);
}

/** True for what the kubelet itself counts, whose names are few. */
function isOfNode(resource: string): boolean {
  return resource === CPU || resource === 'memory' || resource === 'ephemeral-storage';
}

/** The quantity of an amount as Kubernetes writes it: CPU as `2` or `1500m`, others as a number. */
export function formatAmount(resource: string, amount: number): string {
  return resource !== CPU ? String(amount) : amount % 1_000 === 0 ? String(amount / 1_000) : `${amount}m`;
}
