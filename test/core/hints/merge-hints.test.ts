import fc from 'fast-check';
import { mergeHints } from '../../../src/core/hints/merge-hints';
import { tablesOf } from './as-list';
import type { MergeInput, ProviderHints, TopologyHint } from './one-by-one';

const POLICIES = ['best-effort', 'restricted', 'single-numa-node'] as const;

/** A slow reference: it goes through every combination and keeps the better one. */
function mergeByBruteForce({ policy, nodeCount, providers, distances }: MergeInput): TopologyHint {
  const all = 2 ** nodeCount - 1;
  const lists = providers.flatMap((provider): TopologyHint[][] => {
    if (provider === null || Object.keys(provider).length === 0) return [[{ mask: null, preferred: true }]];
    return Object.values(provider).map((hints) => {
      if (hints === null) return [{ mask: null, preferred: true }];
      return hints.length === 0 ? [{ mask: null, preferred: false }] : [...hints];
    });
  });
  const filtered = lists.map((hints) =>
    policy === 'single-numa-node'
      ? hints.filter(({ mask, preferred }) => preferred && (mask === null || bits(mask) === 1))
      : hints,
  );
  const narrowest = filtered.map((hints) => hints.flatMap(({ mask }) => (mask === null ? [] : [bits(mask)])));
  const bound = Math.max(0, ...narrowest.filter((counts) => counts.length > 0).map((counts) => Math.min(...counts)));

  const distance = (mask: number): number => {
    const nodes = [...Array(nodeCount).keys()].filter((i) => (mask & (1 << i)) !== 0);
    const pairs = nodes.flatMap((from) => nodes.map((to) => distances![from]![to]!));
    return pairs.reduce((sum, each) => sum + each, 0) / pairs.length;
  };
  const better = (x: TopologyHint, y: TopologyHint): TopologyHint => {
    const [a, b] = [x.mask!, y.mask!];
    if (bits(a) !== bits(b)) return bits(a) < bits(b) ? x : y;
    if (distances && policy !== 'single-numa-node' && distance(a) !== distance(b))
      return distance(a) < distance(b) ? x : y;
    return a <= b ? x : y;
  };
  const keep = (current: TopologyHint, candidate: TopologyHint): TopologyHint => {
    if (current.preferred !== candidate.preferred) return current.preferred ? current : candidate;
    if (current.preferred) return better(current, candidate);
    const [u, v] = [bits(current.mask!), bits(candidate.mask!)];
    if (u > bound) return better(current, candidate);
    if (u === bound) return v === bound ? better(current, candidate) : current;
    if (v > bound) return current;
    if (v === bound) return candidate;
    if (v === u) return better(current, candidate);
    return v > u ? candidate : current;
  };

  let best: TopologyHint | undefined;
  const combine = (depth: number, chosen: TopologyHint[]): void => {
    if (depth < filtered.length) {
      for (const hint of filtered[depth]!) combine(depth + 1, [...chosen, hint]);
      return;
    }
    const masks = chosen.flatMap(({ mask }) => mask ?? []);
    const mask = masks.reduce((common, each) => common & each, all);
    if (mask === 0) return;
    const preferred = chosen.every((hint) => hint.preferred) && masks.every((each) => each === masks[0]);
    best = best ? keep(best, { mask, preferred }) : { mask, preferred };
  };
  combine(0, []);
  const merged = best ?? { mask: all, preferred: false };
  return policy === 'single-numa-node' && merged.mask === all ? { ...merged, mask: null } : merged;
}

function merge(input: MergeInput): TopologyHint {
  const { providers, nodeCount } = input;
  return mergeHints({ ...input, providers: providers.map((provider) => tablesOf(provider, nodeCount)) });
}

function bits(mask: number): number {
  return mask.toString(2).replaceAll('0', '').length;
}

const arbitraryInput: fc.Arbitrary<MergeInput> = fc.integer({ min: 1, max: 4 }).chain((nodeCount) => {
  const hint = fc.record({
    mask: fc.option(fc.integer({ min: 1, max: 2 ** nodeCount - 1 }), { freq: 6 }),
    preferred: fc.boolean(),
  });
  const hints = fc.option(fc.array(hint, { maxLength: 5 }), { freq: 6 });
  const provider: fc.Arbitrary<ProviderHints> = fc.option(
    fc.dictionary(fc.constantFrom('cpu', 'memory', 'gpu'), hints, { maxKeys: 2 }),
    { freq: 6 },
  );
  const row = fc.array(fc.integer({ min: 10, max: 14 }), { minLength: nodeCount, maxLength: nodeCount });
  return fc.record(
    {
      policy: fc.constantFrom(...POLICIES),
      nodeCount: fc.constant(nodeCount),
      providers: fc.array(provider, { maxLength: 3 }),
      distances: fc.array(row, { minLength: nodeCount, maxLength: nodeCount }),
    },
    { requiredKeys: ['policy', 'nodeCount', 'providers'] },
  );
});

test('the merge has the result of going through all combinations', () => {
  fc.assert(
    fc.property(arbitraryInput, (input) => {
      expect(merge(input)).toEqual(mergeByBruteForce(input));
    }),
    { seed: 11, numRuns: 3000 },
  );
});

test('sixteen nodes and four resources with every combination of nodes are merged in bounded time', () => {
  const everywhere = Array.from({ length: 2 ** 16 - 1 }, (_, i) => ({ mask: i + 1, preferred: false }));
  const without = (node: number) => everywhere.filter(({ mask }) => (mask & (1 << node)) !== 0);
  const providers = [{ cpu: without(3) }, { memory: without(9) }, { gpu: without(15) }, { nic: everywhere }];
  for (const policy of ['best-effort', 'restricted'] as const) {
    expect(merge({ policy, nodeCount: 16, providers })).toEqual({ mask: 1, preferred: false });
  }
});
