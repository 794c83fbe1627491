/**
 * The positions of a longest part of the list whose values increase: what can stay where it is when the rest is moved.
 * In O(n log n).
 */
export function keptInOrder(values: readonly number[]): ReadonlySet<number> {
  /** By length of a run, the position of the least value that such a run can end with. */
  const ends: number[] = [];
  const previous: number[] = [];
  for (const [position, value] of values.entries()) {
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (values[ends[middle]!]! < value) low = middle + 1;
      else high = middle;
    }
    previous[position] = low > 0 ? ends[low - 1]! : -1;
    ends[low] = position;
  }
  const kept = new Set<number>();
  for (let position = ends.at(-1) ?? -1; position >= 0; position = previous[position]!) kept.add(position);
  return kept;
}
