import { HotValues } from '../../../src/scheduling/annotator/hot-values';
import { Bindings } from '../../../src/scheduling/load/bindings';
import type { HotValue } from '../../../src/scheduling/policy/policy';

let stop: AbortController;
beforeEach(() => {
  jest.useFakeTimers({ now: 1_700_000_000_000 });
  stop = new AbortController();
});
afterEach(() => {
  stop.abort();
  jest.useRealTimers();
});

const DEFAULT: readonly HotValue[] = [
  { timeRangeMs: 300_000, count: 5 },
  { timeRangeMs: 60_000, count: 2 },
];

function createHotValues(hotValue = DEFAULT, names = ['n1', 'n2']) {
  const bindings = new Bindings(1_024);
  const nodes = new Set(names);
  const written: string[] = [];
  let pods = 0;
  const hotValues = new HotValues({
    policy: { syncPolicy: [], predicate: [], priority: [], hotValue },
    bindings,
    nodes: { has: (name) => nodes.has(name), names: () => nodes.values() },
    onHotValue: (node, value, stampMs, isChanged) =>
      written.push(`${node} ${value}${isChanged ? ' changed' : ''}${stampMs === Date.now() ? '' : ' wrong time'}`),
    nowMs: () => Date.now(),
    signal: stop.signal,
  });
  const bind = (node: string, count: number): void => {
    for (let n = 0; n < count; n++) bindings.add({ uid: `p${pods++}`, node, timestampMs: Date.now() });
    hotValues.touch(node);
  };
  return { hotValues, bindings, nodes, written, bind };
}

const wait = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

test('given 12 bindings in 5 min, 5 of them in the last: the hot value is 4, without any load figure (hot value tied to load success, fault of upstream)', async () => {
  const { hotValues, bind, written } = createHotValues();
  bind('n1', 7);
  await wait(120_000);
  bind('n1', 5);
  hotValues.start();
  expect(written).toEqual(['n1 4 changed', 'n2 0 changed']);
});

test('given pods that are bound: their node is written soon, others are not', async () => {
  const { hotValues, bind, written } = createHotValues();
  hotValues.start();
  written.length = 0;
  await wait(10_000);
  bind('n1', 1); // too few to count
  bind('n2', 2);
  await wait(1_100);
  expect(written).toEqual(['n2 1 changed']);
});

test('given bindings that grow old: the value falls at the next tick', async () => {
  const { hotValues, bind, written } = createHotValues();
  bind('n1', 2);
  hotValues.start();
  written.length = 0;
  await wait(61_000);
  expect(written).toEqual(['n1 0 changed']);
});

test('given no change: each value is written again after two minutes', async () => {
  const { hotValues, written } = createHotValues();
  hotValues.start();
  await wait(600_500);
  expect(written.filter((line) => line === 'n1 0')).toHaveLength(5);
});

test.each`
  ranges               | ticks
  ${[300_000, 60_000]} | ${1}
  ${[10_000]}          | ${6}
  ${[10]}              | ${59}
`(
  'given ranges of $ranges ms: values are computed $ticks times a minute',
  async ({ ranges, ticks }: { ranges: number[]; ticks: number }) => {
    const { hotValues, bindings } = createHotValues(
      ranges.map((timeRangeMs) => ({ timeRangeMs, count: 1 })),
      ['n1'],
    );
    const counted = jest.spyOn(bindings, 'count');
    hotValues.start();
    counted.mockClear();
    await wait(60_500);
    expect(Math.abs(counted.mock.calls.length / ranges.length - ticks)).toBeLessThanOrEqual(1);
  },
);

test('given a patch for other values: a value goes with it when it is a minute old', async () => {
  const { hotValues } = createHotValues();
  expect(hotValues.renew('n1')).toBeUndefined(); // not written yet
  hotValues.start();
  await wait(59_000);
  expect(hotValues.renew('n1')).toBeUndefined();
  await wait(2_000);
  expect(hotValues.renew('n1')).toEqual({ hotValue: 0, stampMs: Date.now() });
  expect(hotValues.renew('n1')).toBeUndefined();
});

test('given a clock that was set: all values are written at once', async () => {
  const { hotValues, written } = createHotValues();
  hotValues.start();
  written.length = 0;
  hotValues.restart();
  expect(written).toEqual(['n1 0 changed', 'n2 0 changed']);
});

test('before the bindings are complete nothing is written', async () => {
  const { hotValues, bind, written } = createHotValues();
  bind('n1', 9);
  hotValues.restart();
  await wait(600_000);
  expect(written).toEqual([]);
});

test('given a node that is gone: it is not written any more', async () => {
  const { hotValues, nodes, bind, written } = createHotValues();
  hotValues.start();
  nodes.delete('n1');
  hotValues.remove('n1');
  written.length = 0;
  bind('n1', 9);
  await wait(150_000);
  expect(written).toEqual(['n2 0']);
});
