import pino from 'pino';
import { expressionOf, MetricSync } from '../../../src/scheduling/annotator/metric-sync';
import type { QueryResult } from '../../../src/scheduling/annotator/prometheus/parse-answer';

const PERIOD_MS = 180_000;
let stop: AbortController;
beforeEach(() => {
  jest.useFakeTimers({ now: 1_700_000_000_000 });
  stop = new AbortController();
});
afterEach(() => {
  stop.abort();
  jest.useRealTimers();
  jest.restoreAllMocks();
});

/** A sync of the metric `m`. Each query is answered at once by `answer`. */
function createSync({ names = ['n1', 'n2'], periodMs = PERIOD_MS } = {}) {
  const nodes = new Map(names.map((name) => [name, { name, address: name }]));
  const asked: number[] = [];
  const figures: string[] = [];
  const warnings: Record<string, unknown>[] = [];
  const stage = {
    answer: (): QueryResult => seriesOf(...nodes.keys()),
    clockMs: 0,
    missing: NaN,
  };
  const sync = new MetricSync({
    policy: { name: 'm', periodMs },
    query: (expression, timeMs) => {
      expect(expression).toBe('m /100');
      asked.push(timeMs);
      return Promise.resolve(stage.answer());
    },
    nodes: { get: (name) => nodes.get(name), names: () => nodes.keys() },
    onFigure: (node, ratio, stampMs, isUrgent) =>
      figures.push(`${node} ${ratio} ${isUrgent ? 'urgent' : 'calm'} ${stampMs - Date.now() - stage.clockMs}`),
    firstPeriod: 0.95,
    metrics: { noteQuery: () => undefined, setMissing: (_metric, count) => (stage.missing = count) },
    nowMs: () => Date.now() + stage.clockMs,
    log: pino(
      { level: 'warn' },
      { write: (line: string) => void warnings.push(JSON.parse(line) as Record<string, unknown>) },
    ),
    signal: stop.signal,
  });
  const add = (name: string): void => {
    nodes.set(name, { name, address: name });
    sync.add(nodes.get(name)!);
  };
  return { sync, stage, nodes, asked, figures, warnings, add };
}

const seriesOf = (...names: string[]): QueryResult => ({
  ok: true,
  series: names.map((instance) => ({ instance, job: '', timeMs: Date.now(), value: '0.5' })),
});
const wait = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

test('given two nodes: one query at once, then one in each period, the first a little earlier', async () => {
  const { sync, asked, figures } = createSync();
  await sync.start();
  expect(figures.splice(0)).toEqual(['n1 0.5 urgent 0', 'n2 0.5 urgent 0']);
  await wait(0.95 * PERIOD_MS + 10);
  expect(asked).toHaveLength(2);
  expect(figures).toEqual(['n1 0.5 calm 0', 'n2 0.5 calm 0']);
  await wait(10 * PERIOD_MS);
  expect(asked).toHaveLength(12);
});

test.each([
  { jitter: 'shortest', random: 0, pauses: [9, 18, 36] },
  { jitter: 'longest', random: 1 - Number.EPSILON, pauses: [11, 22, 44] },
])(
  'given failing queries and the $jitter pauses: after $pauses s they are repeated, at last once a period; failures are logged',
  async ({ random, pauses }) => {
    jest.spyOn(Math, 'random').mockReturnValue(random);
    const { sync, stage, asked, warnings } = createSync();
    stage.answer = () => ({ ok: false, because: 'answered with status 503' });
    await sync.start();
    await wait(80_000);
    expect(asked.slice(1).map((time, nth) => Math.round((time - asked[nth]!) / 1_000))).toEqual(pauses);
    expect(warnings[0]).toMatchObject({ metric: 'm', because: 'Prometheus answered with status 503', nodes: 2 });
    await wait(3_600_000);
    expect(asked.length).toBeGreaterThanOrEqual(4 + 3_600_000 / PERIOD_MS);
  },
);

test('given a Prometheus that is back: all nodes get figures, and the back-off begins anew', async () => {
  const { sync, stage, figures, asked } = createSync();
  stage.answer = () => ({ ok: false, because: 'is away' });
  await sync.start();
  await wait(35_000);
  stage.answer = () => seriesOf('n1', 'n2');
  await wait(45_000);
  expect(figures).toEqual(['n1 0.5 urgent 0', 'n2 0.5 urgent 0']);
  const before = asked.length;
  await wait(60_000);
  expect(asked).toHaveLength(before);
});

test('given one node without a series: others get no second figure when it is asked for again', async () => {
  const { sync, stage, figures, warnings, asked } = createSync();
  stage.answer = () => seriesOf('n1');
  await sync.start();
  await wait(12_000);
  expect(asked).toHaveLength(2);
  expect(figures).toEqual(['n1 0.5 urgent 0']);
  expect(stage.missing).toBe(1);
  expect(warnings).toEqual([
    expect.objectContaining({ metric: 'm', nodes: 1, examples: ['n2: no series of n2 or n2'] }),
  ]);
  stage.answer = () => seriesOf('n1', 'n2');
  await wait(25_000);
  expect(figures.slice(1)).toEqual(['n2 0.5 urgent 0']);
  expect(stage.missing).toBe(0);
});

test('given a new node soon after a query: it gets its figure at once, without a query (new nodes wait for a tick, fault of upstream)', async () => {
  const { sync, stage, figures, asked, add } = createSync({ names: ['n1'] });
  stage.answer = () => seriesOf('n1', 'n2', 'n3');
  await sync.start();
  await wait(5_000);
  add('n2');
  expect(figures.slice(1)).toEqual(['n2 0.5 urgent -5000']); // of the time that was asked for
  expect(asked).toHaveLength(1);
});

test('given new nodes long after a query: they share one query (new nodes wait for a tick, fault of upstream)', async () => {
  const { sync, figures, asked, add } = createSync({ names: ['n1'] });
  await sync.start();
  await wait(60_000);
  for (const name of ['n2', 'n3', 'n4']) add(name);
  await wait(1_100);
  expect(asked).toHaveLength(2);
  expect(figures.slice(1)).toEqual(['n2 0.5 urgent 0', 'n3 0.5 urgent 0', 'n4 0.5 urgent 0']);
});

test('given a node that was without a series for long: another new node is asked for again after 10 s all the same', async () => {
  const { sync, stage, asked, add } = createSync({ periodMs: 3_600_000 });
  stage.answer = () => seriesOf('n1');
  await sync.start();
  await wait(1_800_000);
  add('n3');
  const before = asked.length;
  await wait(13_000);
  expect(asked.length - before).toBeGreaterThanOrEqual(2);
});

test('given a node that is gone: nothing is asked for it', async () => {
  const { sync, stage, nodes, asked } = createSync();
  stage.answer = () => seriesOf('n1');
  await sync.start();
  nodes.delete('n2');
  sync.remove('n2');
  await wait(15_000);
  const before = asked.length;
  await wait(100_000);
  expect(asked).toHaveLength(before);
});

test('given a sample that is older than asked for: the figure has its time', async () => {
  const { sync, stage, figures } = createSync({ names: ['n1'] });
  stage.answer = () => ({ ok: true, series: [{ instance: 'n1', job: '', timeMs: Date.now() - 90_000, value: '0.5' }] });
  await sync.start();
  expect(figures).toEqual(['n1 0.5 urgent -90000']);
});

test.each`
  aheadMs   | want
  ${1_000}  | ${['n1 0.5 urgent 0']}
  ${60_000} | ${[]}
`(
  'given a sample of $aheadMs ms in the future: $want',
  async ({ aheadMs, want }: { aheadMs: number; want: string[] }) => {
    const { sync, stage, figures } = createSync({ names: ['n1'] });
    stage.answer = () => ({
      ok: true,
      series: [{ instance: 'n1', job: '', timeMs: Date.now() + aheadMs, value: '0.5' }],
    });
    await sync.start();
    expect(figures).toEqual(want);
  },
);

test('after the clock was set all nodes are asked for anew', async () => {
  const { sync, stage, figures, asked } = createSync();
  await sync.start();
  figures.length = 0;
  stage.clockMs = 0;
  sync.restart();
  await wait(10);
  expect(asked).toHaveLength(2);
  expect(figures).toHaveLength(2);
});

test('given a period of 1 s and a Prometheus that is away: it is asked each second', async () => {
  const { sync, stage, asked } = createSync({ periodMs: 1_000 });
  stage.answer = () => ({ ok: false, because: 'is away' });
  await sync.start();
  await wait(10_000);
  expect(asked.length).toBeGreaterThanOrEqual(9);
  expect(asked.length).toBeLessThanOrEqual(22);
});

test('given a period of 60 days: there is no second query before it', async () => {
  const { sync, asked } = createSync({ periodMs: 60 * 86_400_000 });
  await sync.start();
  await wait(40 * 86_400_000);
  expect(asked).toHaveLength(1);
  await wait(20 * 86_400_000);
  expect(asked).toHaveLength(2);
});

test('after the end nothing is asked', async () => {
  const { sync, asked } = createSync();
  await sync.start();
  stop.abort();
  await wait(10 * PERIOD_MS);
  expect(asked).toHaveLength(1);
});

test('given a selector, every expression has it', () => {
  const selector = 'cluster="a",env=~"prod|test"';
  expect(expressionOf('cpu_usage_avg_5m', selector)).toBe('cpu_usage_avg_5m{cluster="a",env=~"prod|test"} /100');
  expect(expressionOf('cpu-usage', selector)).toBe('{__name__="cpu-usage",cluster="a",env=~"prod|test"} /100');
});

test.each`
  metric                | want
  ${'cpu_usage_avg_5m'} | ${'cpu_usage_avg_5m /100'}
  ${'job:cpu:avg'}      | ${'job:cpu:avg /100'}
  ${'cpu-usage'}        | ${'{__name__="cpu-usage"} /100'}
  ${'example.com/cpu'}  | ${'{__name__="example.com/cpu"} /100'}
`('the expression for $metric is $want', ({ metric, want }: Record<'metric' | 'want', string>) => {
  expect(expressionOf(metric)).toBe(want);
});
