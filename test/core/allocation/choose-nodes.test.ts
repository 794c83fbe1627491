import fc from 'fast-check';
import { chooseNodes, type ChosenNodes, type NodeChoice } from '../../../src/core/allocation/choose-nodes';
import { makeRandom } from '../topology/arbitrary-machine';

/** The number of CPUs that each node gives in the end. */
function givenBy({ free, count, groupSize }: NodeChoice, { nodes, share, extra }: ChosenNodes): number[] {
  const given = free.map((_, node) => (nodes.includes(node) ? share : 0));
  let left = count - share * nodes.length;
  while (left > 0) {
    const before = left;
    for (const node of extra) {
      if (left <= 0 || free[node]! - given[node]! < groupSize) continue;
      given[node]! += groupSize;
      left -= groupSize;
    }
    if (left === before) throw new Error('the extra nodes cannot give what is left');
  }
  return given;
}

/** A slow reference that scores every combination and every set; the search has to agree with it. */
function chooseByBruteForce(choice: NodeChoice): ChosenNodes | undefined {
  const { free, count, groupSize } = choice;
  for (let size = 1; size <= choice.maxNodes; size++) {
    let best: (ChosenNodes & { score: number; isInOneSocket: boolean }) | undefined;
    for (const nodes of subsets(free.length, size)) {
      const equalShare = Math.floor(Math.floor(count / size) / groupSize) * groupSize;
      const wholeGroups = nodes.map((node) => Math.floor(free[node]! / groupSize) * groupSize);
      const share = choice.sockets ? Math.min(equalShare, ...wholeGroups) : equalShare;
      const isInOneSocket = choice.sockets?.some((socket) => nodes.every((node) => socket.includes(node))) === true;
      const groups = nodes.reduce((sum, node) => sum + Math.floor(free[node]! / groupSize), 0);
      if (groups * groupSize < count || nodes.some((node) => free[node]! < share)) continue;
      const rest = free.map((cpus, node) => (nodes.includes(node) ? cpus - share : cpus));
      const left = count - share * size;
      const givers = nodes.filter((node) => rest[node]! >= groupSize);
      let mine: (ChosenNodes & { score: number }) | undefined;
      if (left === 0) mine = { nodes, share, extra: [], bounded: false, score: balance(rest) };
      for (let many = givers.length; left > 0 && many >= 1; many--) {
        for (const places of subsets(givers.length, many)) {
          const extra = places.map((place) => givers[place]!);
          if (extra.reduce((sum, node) => sum + Math.floor(rest[node]! / groupSize) * groupSize, 0) < left) continue;
          const chosen = { nodes, share, extra, bounded: false };
          const given = givenBy(choice, chosen);
          const score = balance(free.map((cpus, node) => cpus - given[node]!));
          if (!mine || score < mine.score) mine = { ...chosen, score };
        }
      }
      if (!mine) continue;
      const isFirst = !best || isInOneSocket !== best.isInOneSocket ? !best || isInOneSocket : mine.score < best.score;
      if (isFirst) best = { ...mine, isInOneSocket };
      if (best?.score === 0 && (!choice.sockets || best.isInOneSocket)) break;
    }
    if (best) return best;
  }
  return undefined;
}

function balance(values: readonly number[]): number {
  const round = (value: number) => Math.round(value * 1000) / 1000;
  const mean = round(values.reduce((sum, value) => sum + value, 0) / values.length);
  return round(Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length));
}

function subsets(length: number, size: number, from = 0): number[][] {
  if (size === 0) return [[]];
  const all: number[][] = [];
  for (let i = from; i <= length - size; i++)
    for (const rest of subsets(length, size - 1, i + 1)) all.push([i, ...rest]);
  return all;
}

const arbitraryChoice: fc.Arbitrary<NodeChoice> = fc
  .record({
    free: fc.oneof(
      fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 7 }),
      fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 6 }),
    ),
    groupSize: fc.constantFrom(1, 1, 2, 3, 4),
    part: fc.double({ min: 0, max: 1, noNaN: true }),
    nodesPerSocket: fc.constantFrom(0, 0, 1, 2, 3, 4),
  })
  .map(({ free, groupSize, part, nodesPerSocket }) => {
    const groups = Math.max(1, Math.floor((free.reduce((sum, cpus) => sum + cpus, 0) / groupSize) * part));
    const indices = free.map((_, i) => i);
    const sockets = nodesPerSocket > 0 && {
      sockets: indices.filter((i) => i % nodesPerSocket === 0).map((i) => indices.slice(i, i + nodesPerSocket)),
    };
    return { free, groupSize, count: groups * groupSize, maxNodes: Math.min(groups, free.length), ...sockets };
  });

test('the search has the result of scoring every combination', () => {
  fc.assert(
    fc.property(arbitraryChoice, (choice) => {
      const want = chooseByBruteForce(choice);
      const got = chooseNodes(choice);
      expect(got?.nodes).toEqual(want?.nodes);
      expect(got && givenBy(choice, got)).toEqual(want && givenBy(choice, want));
      expect(got?.bounded ?? false).toBe(false);
    }),
    { seed: 7, numRuns: 1500 },
  );
});

test.each([
  ['one node when one suffices', { free: [8, 8], count: 8 }, [8, 0]],
  ['equal shares of two nodes', { free: [8, 8], count: 10 }, [5, 5]],
  ['the fuller nodes, so that the machine is balanced', { free: [4, 8, 8], count: 10 }, [0, 5, 5]],
  ['an odd CPU from the first of equal nodes', { free: [8, 8, 8], count: 13 }, [7, 6, 0]],
  ['more nodes where two cannot give equal shares', { free: [2, 8, 3], count: 9 }, undefined],
  ['undivided groups', { free: [7, 7], count: 12, groupSize: 4 }, undefined],
  [
    'a remainder from two of four, the fullest first, where one or three would leave the machine less balanced',
    { free: [4, 8, 4, 6], count: 15 },
    [3, 5, 3, 4],
  ],
  [
    'nodes of one socket before nodes of two, where their shares are unequal',
    {
      free: [32, 32, 32, 24, 32, 32, 32, 24],
      count: 116,
      sockets: [
        [0, 1, 2, 3],
        [4, 5, 6, 7],
      ],
    },
    [31, 31, 30, 24, 0, 0, 0, 0],
  ],
  [
    'nodes of two sockets, where none has enough',
    {
      free: [4, 4, 4, 4],
      count: 10,
      sockets: [
        [0, 1],
        [2, 3],
      ],
    },
    [4, 3, 3, 0],
  ],
  ['a remainder in whole groups', { free: [8, 8], count: 12, groupSize: 4 }, [8, 4]],
])('takes %s', (_name, choice, want) => {
  const full = { groupSize: 1, maxNodes: choice.free.length, ...choice };
  const got = chooseNodes(full);
  expect(got && givenBy(full, got)).toEqual(want);
});

/** Nodes filled at random, as after months of creations and exits. */
function wornMachine(nodes: number, seed: number): NodeChoice {
  const random = makeRandom(seed);
  const groupSize = seed % 3 === 0 ? 2 : 1;
  const free = Array.from({ length: nodes }, () => 1 + Math.floor(random() * 128));
  const groups = Math.max(
    1,
    Math.floor((free.reduce((sum, cpus) => sum + Math.floor(cpus / groupSize), 0) - 1) * random()),
  );
  return { free, count: groups * groupSize, groupSize, maxNodes: Math.min(groups, nodes) };
}

test('for sixteen partly used nodes the search is complete', () => {
  const ends = Array.from({ length: 200 }, (_, seed) => chooseNodes(wornMachine(16, seed)));
  expect(ends.filter((chosen) => chosen?.bounded)).toEqual([]);
  expect(ends.filter((chosen) => chosen !== undefined).length).toBeGreaterThan(100);
});

test('for sixty-four partly used nodes the search ends at its bound, and its result has the exact count', () => {
  const bounded = Array.from({ length: 20 }, (_, seed) => wornMachine(64, seed)).filter((choice) => {
    const chosen = chooseNodes(choice);
    if (!chosen) return false;
    const given = givenBy(choice, chosen);
    expect(given.reduce((sum, cpus) => sum + cpus, 0)).toBe(choice.count);
    expect(given.every((cpus, node) => cpus <= choice.free[node]!)).toBe(true);
    return chosen.bounded;
  });
  expect(bounded.length).toBeGreaterThan(0);
});
