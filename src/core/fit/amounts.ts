/** Amounts by resource: CPU in thousandths, all others in whole units (bytes). */
export type Amounts = ReadonlyMap<string, number>;

/** Amounts by the name of a zone. */
export type ZoneAmounts = ReadonlyMap<string, Amounts>;

export const CPU = 'cpu';
export const NO_AMOUNTS: Amounts = new Map();
export const NO_ZONE_AMOUNTS: ZoneAmounts = new Map();

/** The larger amount of each resource in each zone. */
export function largerUse(first: ZoneAmounts, second: ZoneAmounts): ZoneAmounts {
  const larger = new Map<string, Map<string, number>>();
  for (const use of [first, second])
    for (const [zone, amounts] of use) {
      const ofZone = larger.get(zone) ?? new Map<string, number>();
      for (const [resource, amount] of amounts) ofZone.set(resource, Math.max(amount, ofZone.get(resource) ?? 0));
      larger.set(zone, ofZone);
    }
  return larger;
}

/** The amounts that are taken of a node's zones: by its pods, and by those that are being bound. */
export function sumUse(uses: Iterable<ZoneAmounts>): ZoneAmounts {
  const sums = new Map<string, Map<string, number>>();
  for (const use of uses) {
    for (const [zone, amounts] of use) {
      let sum = sums.get(zone);
      if (!sum) sums.set(zone, (sum = new Map<string, number>()));
      for (const [resource, amount] of amounts) sum.set(resource, (sum.get(resource) ?? 0) + amount);
    }
  }
  return sums;
}
