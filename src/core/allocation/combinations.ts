/**
 * Visits combinations of `size` indices in lexicographic order until the visitor says that one will do; true when one
 * did. Of combinations with the same values in the same order only the first is visited. The list is reused: copy it to
 * keep it.
 */
export function findCombination(
  values: readonly number[],
  size: number,
  willDo: (indices: readonly number[]) => boolean,
): boolean {
  const chosen: number[] = new Array<number>(size).fill(0);
  const extend = (depth: number, from: number): boolean => {
    if (depth === size) return willDo(chosen);
    for (let i = from; i <= values.length - (size - depth); i++) {
      // The same value was tried here, with more left to follow it.
      if (values.indexOf(values[i]!, from) < i) continue;
      chosen[depth] = i;
      if (extend(depth + 1, i + 1)) return true;
    }
    return false;
  };
  return extend(0, 0);
}
