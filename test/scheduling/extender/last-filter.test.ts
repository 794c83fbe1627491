import { NodeRecords } from '../../../src/scheduling/extender/cluster/node-records';
import { LastFilter } from '../../../src/scheduling/extender/last-filter';
import type { Scores } from '../../../src/scheduling/extender/verdict';

const atMs = Date.parse('2023-03-01T02:00:00Z');
const scoresOf = (total: number): Scores => ({ Dynamic: total, NodeResourceTopologyMatch: 0, wholeCpus: 0, total });

/** The filter of the pod u1 has let a pass with the score 10, and b with 20. */
function createFilter(): LastFilter {
  const [filter, records] = [new LastFilter(), new NodeRecords()];
  filter.begin('u1', atMs);
  filter.add(records.of('a'), scoresOf(10));
  filter.add(records.of('b'), scoresOf(20));
  return filter;
}

test.each([
  ['the nodes that passed', 'u1', ['a', 'b'], 0, [10, 20]],
  ['fewer of them', 'u1', ['a'], 0, undefined],
  ['another order', 'u1', ['b', 'a'], 0, undefined],
  ['others', 'u1', ['a', 'c'], 0, undefined],
  ['another pod', 'u2', ['a', 'b'], 0, undefined],
  ['a moment later', 'u1', ['a', 'b'], 999, [10, 20]],
  ['a second later', 'u1', ['a', 'b'], 1_000, undefined],
  ['a clock that was set back', 'u1', ['a', 'b'], -1, undefined],
])('given scores that are asked for %s: pod %s, nodes %j, after %d ms: %j', (_name, uid, names, afterMs, want) => {
  const scored = createFilter().find(uid, names, atMs + afterMs);
  expect(scored && names.map((_, i) => scored.totalOf(i))).toEqual(want);
});

test('given the next filter: the scores before are forgotten', () => {
  const filter = createFilter();
  filter.begin('u2', atMs);
  expect(filter.find('u1', ['a', 'b'], atMs)).toBeUndefined();
  expect(filter.find('u2', [], atMs)?.length).toBe(0);
});
