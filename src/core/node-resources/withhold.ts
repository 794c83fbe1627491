/**
 * Takes the excess off the CPUs that the zones could give, and returns what is left of each.
 *
 * The zone with the fewest gives first, of equal ones the last: so the largest request that fits into one zone still
 * fits, and no single request is refused that could be met. Counts are in whole units of `unit` CPUs where something
 * was taken. Pure.
 */
export function withhold(available: readonly number[], excess: number, unit = 1): number[] {
  const left = [...available];
  const fewestFirst = available.map((_, i) => i).sort((a, b) => available[a]! - available[b]! || b - a);
  let rest = excess;
  for (const i of fewestFirst) {
    if (rest <= 0) break;
    const kept = Math.max(0, left[i]! - rest);
    const whole = kept - (kept % unit);
    rest -= left[i]! - whole;
    left[i] = whole;
  }
  return left;
}
