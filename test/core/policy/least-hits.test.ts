import { hitInOrder, LeastHits, maskOf } from '../../../src/core/policy/least-hits';
import { createRandom, type Random } from '../../support/random';

function randomSet(random: Random, nodes: readonly number[]): number[] {
  const set = nodes.filter(() => random.chance(0.4));
  return set.length > 0 ? set : [random.pick(nodes)];
}

const weigh = (weights: readonly number[], mask: number): number =>
  weights.reduce((sum, weight, node) => sum + ((mask >> node) & 1 ? weight : 0), 0);

test('for each combination of nodes, the chosen ones hit every set that lies in it, and no others weigh less', () => {
  for (let seed = 1; seed <= 500; seed++) {
    const random = createRandom(seed);
    const weights = Array.from({ length: random.int(1, 6) }, () => random.int(1, 3));
    const nodes = weights.map((_, node) => node);
    const sets = Array.from({ length: random.int(1, 7) }, () => randomSet(random, nodes));
    const masks = Array.from({ length: 2 ** nodes.length }, (_, mask) => mask);
    const [upwards, downwards] = [new LeastHits(sets, weights), new LeastHits(sets, weights)];
    const inReverse = new Map([...masks].reverse().map((mask) => [mask, downwards.within(mask)]));
    for (const mask of masks) {
      const chosen = upwards.within(mask);
      const within = sets.map(maskOf).filter((set) => (set & mask) === set);
      const hitsAll = (tried: number): boolean => within.every((set) => (set & tried) !== 0);
      const least = Math.min(...masks.filter((tried) => (tried & mask) === tried && hitsAll(tried)).map((tried) => weigh(weights, tried))); // prettier-ignore
      expect({ seed, mask, hits: hitsAll(chosen), weight: weigh(weights, chosen), again: inReverse.get(mask) })
        .toEqual({ seed, mask, hits: true, weight: least, again: chosen }); // prettier-ignore
    }
  }
});

test('of nodes that weigh the same the one that the set prefers is chosen', () => {
  expect(new LeastHits([[2, 0, 1]], [1, 1, 1]).within(0b111)).toBe(0b100);
});

test('for any number of nodes each set is hit, by the node that it prefers where it has none yet', () => {
  expect(hitInOrder([[40, 3], [3], [7, 40], [5, 3]])).toEqual([40, 3]);
});
