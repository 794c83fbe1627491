import { NodeRecords } from '../../../../src/scheduling/extender/cluster/node-records';
import { DecisionLog } from '../../../../src/scheduling/extender/explain/decision-log';
import { ScoredNodes } from '../../../../src/scheduling/extender/scored-nodes';
import type { Rejection, Scores } from '../../../../src/scheduling/extender/verdict';
import { podOf } from '../../topology/objects';

const nowMs = Date.parse('2023-03-01T02:00:00Z');
const pod = podOf(['2'], { uid: 'u1', name: 'web' }).spec;
const overload = (node: string, value: number): Rejection => ({
  plugin: 'Dynamic',
  subject: 'cpu',
  value,
  limit: 0.65,
  message: `Load[cpu] of node[${node}] is too high`,
});
const unpublished: Rejection = {
  plugin: 'NodeResourceTopologyMatch',
  subject: '',
  value: 0,
  limit: 0,
  message: 'node(s) failed to get NRT',
};
const scoresOf = (total: number): Scores => ({ Dynamic: total, NodeResourceTopologyMatch: 50, wholeCpus: 0, total });

const records = new NodeRecords();
const numberOf = (name: string) => records.of(name).number;
function scoredOf(totals: Readonly<Record<string, number>>): ScoredNodes {
  const scored = new ScoredNodes();
  for (const [name, total] of Object.entries(totals)) scored.push(numberOf(name), scoresOf(total));
  return scored;
}

/** A decision on five nodes: b and d are left out by load, e for having no topology. */
function createLog(): DecisionLog {
  const log = new DecisionLog(records);
  const decision = log.begin(pod, nowMs);
  const rejections = { a: undefined, b: overload('b', 0.9), c: undefined, d: overload('d', 0.7), e: unpublished };
  for (const [name, rejection] of Object.entries(rejections)) decision.add(numberOf(name), rejection);
  return log;
}
const explained = (log: DecisionLog, node?: string) => log.explain('default', 'web', node)!.nodes;

test('given nodes that were left out: each has its own figure, and a message without the node', () => {
  const by = (value: number) => ({ plugin: 'Dynamic', subject: 'cpu', value, limit: 0.65, message: 'Load[cpu] is too high' });
  expect(explained(createLog()).map(({ node, fits, rejection }) => ({ node, fits, rejection }))).toEqual([
    { node: 'a', fits: true, rejection: null },
    { node: 'b', fits: false, rejection: by(0.9) },
    { node: 'c', fits: true, rejection: null },
    { node: 'd', fits: false, rejection: by(0.7) },
    { node: 'e', fits: false, rejection: { ...unpublished, value: null, limit: null } },
  ]);
}); // prettier-ignore

test('given one node of interest: its figure is that of the whole list', () => {
  expect(explained(createLog(), 'd')).toEqual([explained(createLog())[3]]);
});

test.each([
  ['in the order of the filter', ['a', 'c'], { a: 1, c: 2 }],
  ['in another order', ['c', 'a'], { c: 1, a: 2 }],
  ['only some, since another extender left one out', ['c'], { c: 1 }],
  ['with one that was not filtered', ['x', 'c'], { c: 2 }],
])('given nodes that are scored %s: each has its own scores, the others none', (_name, nodes, want) => {
  const log = createLog();
  log.notePriorities(pod, scoredOf(Object.fromEntries(nodes.map((name, i) => [name, i + 1]))));
  const scored = explained(log).flatMap(({ node, scores }) => (scores ? [[node, scores.total]] : []));
  expect(Object.fromEntries(scored)).toEqual(want);
});

test('given a new pod with the name of another: the scores of the other are not noted', () => {
  const log = createLog();
  log.notePriorities(podOf(['2'], { uid: 'u2', name: 'web' }).spec, scoredOf({ a: 9 }));
  expect(explained(log).map(({ scores }) => scores)).toEqual([null, null, null, null, null]);
});

test('given more pods than are kept: the oldest decision makes room', () => {
  const log = createLog();
  log.notePriorities(pod, scoredOf({ a: 1 }));
  for (let i = 0; i < 256; i++) log.begin(podOf(['1'], { uid: `o${i}`, name: `o${i}` }).spec, nowMs);
  expect(log.explain('default', 'web')).toBeUndefined();
  expect(log.explain('default', 'o0')).toMatchObject({ uid: 'o0', filteredAt: '2023-03-01T02:00:00.000Z' });
  // Its memory is that of the oldest, and shows nothing of it.
  const newest = log.begin(podOf(['1'], { uid: 'n', name: 'n' }).spec, nowMs);
  newest.add(numberOf('a'), undefined);
  expect(log.explain('default', 'n')?.nodes).toEqual([{ node: 'a', fits: true, rejection: null, scores: null }]);
});

test('given decisions on more nodes than are kept in memory: the oldest make room, and the newest is there', () => {
  const log = new DecisionLog(records);
  const node = numberOf('a');
  for (let i = 0; i < 5; i++) {
    const decision = log.begin(podOf(['1'], { uid: `o${i}`, name: `o${i}` }).spec, nowMs);
    for (let n = 0; n < 1_000_000; n++) decision.add(node, undefined);
  }
  const kept = [0, 1, 2, 3, 4].filter((i) => log.explain('default', `o${i}`, 'none') !== undefined);
  expect(kept.length).toBeLessThanOrEqual(3);
  expect(kept.at(-1)).toBe(4);
});

test('given a pod that is filtered again: nothing of its decision before is left', () => {
  const log = createLog();
  log.notePriorities(pod, scoredOf({ a: 1 }));
  log.noteBinding(pod, 'a', 'no room', nowMs);
  log.begin(pod, nowMs + 1_000).add(numberOf('c'), undefined);
  expect(log.explain('default', 'web')).toEqual({
    namespace: 'default',
    pod: 'web',
    uid: 'u1',
    filteredAt: '2023-03-01T02:00:01.000Z',
    bound: null,
    nodes: [{ node: 'c', fits: true, rejection: null, scores: null }],
  });
});
