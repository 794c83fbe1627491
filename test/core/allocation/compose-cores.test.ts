import { composeCores } from '../../../src/core/allocation';
import { createRandom } from '../../support/random';

const sizes = (...pairs: readonly (readonly [size: number, cores: number])[]) =>
  pairs.map(([size, cores]) => ({ size, cores }));

test.each([
  [4, sizes([2, 4], [1, 6]), [2, 0]],
  [3, sizes([2, 4], [1, 6]), [1, 1]],
  [3, sizes([2, 4], [1, 0]), undefined],
  [7, sizes([1, 1], [2, 4]), [1, 3]],
  [6, sizes([4, 2], [3, 2]), [0, 2]],
  [0, sizes([2, 1]), [0]],
  [1, [], undefined],
])('%i CPUs of %j', (count, groups, want) => {
  expect(composeCores(count, groups)).toEqual(want);
});

/** Every combination, the one with the most large cores first. */
function search(
  count: number,
  groups: readonly { readonly size: number; readonly cores: number }[],
): number[] | undefined {
  const [first, ...rest] = groups;
  if (!first) return count === 0 ? [] : undefined;
  for (let cores = first.cores; cores >= 0; cores--) {
    const others = cores * first.size <= count ? search(count - cores * first.size, rest) : undefined;
    if (others) return [cores, ...others];
  }
  return undefined;
}

test('a search through all combinations gives the same', () => {
  let found = 0;
  for (let seed = 1; seed <= 3_000; seed++) {
    const random = createRandom(seed);
    const distinct = [8, 6, 4, 3, 2, 1].filter(() => random.chance(0.5));
    const groups = distinct.map((size) => ({ size, cores: random.int(0, 4) }));
    const count = random.int(0, 40);
    const want = search(count, groups);
    if (want) found++;
    expect({ seed, got: composeCores(count, groups) }).toEqual({ seed, got: want });
  }
  expect(found).toBeGreaterThan(500);
});
