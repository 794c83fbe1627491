/** Maximum number of steps of the search, beyond which its best so far counts: enough for all sets over a few nodes. */
const MAX_STEPS = 256;

/**
 * The nodes of the least total weight of which each set has one. Nodes of a set come in the order in which they are tried, so that the
 * first answer is a good one already.
 */
export function hitAll(sets: readonly (readonly number[])[], weightOf: (node: number) => number): readonly number[] {
  const disjoint = sets.every((set, i) => sets.slice(0, i).every((other) => !other.some((node) => set.includes(node))));
  if (disjoint) return sets.map(([first]) => first!);
  let best: readonly number[] = [];
  let least = Infinity;
  let stepsLeft = MAX_STEPS;
  search([], 0, sets);
  return best;

  function search(chosen: readonly number[], weight: number, rest: readonly (readonly number[])[]): void {
    const [first] = rest;
    if (first === undefined) {
      if (weight < least) [best, least] = [chosen, weight];
      return;
    }
    for (const node of first) {
      const now = weight + weightOf(node);
      if (now >= least || (best.length > 0 && stepsLeft-- <= 0)) continue;
      search(
        [...chosen, node],
        now,
        rest.filter((set) => !set.includes(node)),
      );
    }
  }
}
