import type { CoresOfSize } from '../topology';

type Sizes = readonly Pick<CoresOfSize, 'size' | 'cores'>[];

/**
 * The number of whole cores of each size that make exactly `count` CPUs together, as many of the larger ones as
 * possible; in the order of the sizes. Undefined when no whole cores do. Costs `count` steps for each size.
 */
export function composeCores(count: number, sizes: Sizes): readonly number[] | undefined {
  const largestFirst = sizes.map(({ size, cores }, place) => ({ size, cores, place })).sort((a, b) => b.size - a.size);
  // reach[i] has the sums that cores of the sizes from i on can make.
  const reach: Uint8Array[] = [
    ...largestFirst.map(() => new Uint8Array(0)),
    Uint8Array.of(1, ...Array<number>(count).fill(0)),
  ];
  for (let i = largestFirst.length - 1; i >= 0; i--) reach[i] = addSize(reach[i + 1]!, largestFirst[i]!);
  if (reach[0]![count] !== 1) return undefined;
  const taken = sizes.map(() => 0);
  let missing = count;
  largestFirst.forEach(({ size, cores, place }, i) => {
    let most = Math.min(cores, Math.floor(missing / size));
    while (reach[i + 1]![missing - most * size] !== 1) most--;
    taken[place] = most;
    missing -= most * size;
  });
  return taken;
}

/** The sums that can be made with a maximum number of cores of this size beside the sums of the others. */
function addSize(others: Uint8Array, { size, cores }: Sizes[number]): Uint8Array {
  const sums = new Uint8Array(others.length);
  /** The fewest cores of this size in each sum. */
  const fewest = new Int32Array(others.length);
  for (let sum = 0; sum < others.length; sum++) {
    if (others[sum] === 1) sums[sum] = 1;
    else if (sum >= size && sums[sum - size] === 1 && fewest[sum - size]! < cores) {
      sums[sum] = 1;
      fewest[sum] = fewest[sum - size]! + 1;
    }
  }
  return sums;
}
