import { gapAbove, gapBelow, isThrottleMetric, metricsOf } from '../../../src/qos/avoidance/gap';
import { makeOrder, makeSituation, metrics } from './builders';

const node = makeSituation({
  cores: 8,
  totalMemoryBytes: 64_000,
  metrics: metrics({
    cpu_total_usage: 7000,
    cpu_total_utilization: 87.5,
    memory_total_usage: 60_000,
    memory_total_utilization: 93.75,
    cpu_load_1_min: 12,
  }),
});

test.each`
  metric                        | watermarks      | above       | below
  ${'cpu_total_usage'}          | ${[6000]}       | ${1100}     | ${-1000}
  ${'cpu_total_usage'}          | ${[8000]}       | ${-1100}    | ${1000}
  ${'cpu_total_usage'}          | ${[6500, 6000]} | ${1100}     | ${-1000}
  ${'cpu_total_utilization'}    | ${[75]}         | ${1100}     | ${-1000}
  ${'memory_total_usage'}       | ${[50_000]}     | ${11_000}   | ${-10_000}
  ${'memory_total_utilization'} | ${[50]}         | ${30_800}   | ${-28_000}
  ${'cpu_load_1_min'}           | ${[8]}          | ${Infinity} | ${Infinity}
  ${'disk_read_iops'}           | ${[8]}          | ${Infinity} | ${Infinity}
`(
  'with watermarks $watermarks of $metric, $above is to be released and $below is free',
  ({ metric, watermarks, above, below }: { metric: string; watermarks: number[]; above: number; below: number }) => {
    const orders = watermarks.map((threshold, index) => makeOrder({ rule: `node/${index}`, metric, threshold }));
    expect(gapAbove(metric, orders, node)).toBeCloseTo(above, 6);
    expect(gapBelow(metric, orders, node)).toBeCloseTo(below, 6);
  },
);

test('the watermark of another metric does not count', () => {
  const orders = [makeOrder(), makeOrder({ metric: 'memory_total_usage', threshold: 1 })];
  expect(gapAbove('cpu_total_usage', orders, node)).toBeCloseTo(1100, 6);
});

test('a gap without the value of its metric, or without the memory of the node, is infinite', () => {
  const orders = [makeOrder({ metric: 'memory_total_utilization', threshold: 1 })];
  expect(gapAbove('memory_total_utilization', orders, { ...node, metrics: new Map() })).toBe(Infinity);
  const { totalMemoryBytes: _, ...unknown } = node;
  expect(gapAbove('memory_total_utilization', orders, unknown)).toBe(Infinity);
  expect(
    gapAbove('memory_total_utilization', orders, { ...node, metrics: metrics({ memory_total_utilization: NaN }) }),
  ).toBe(Infinity);
});

test('the greatest series of a metric counts', () => {
  const series = [5000, 7000, 6500].map((value) => ({ labels: {}, value, atMs: 0 }));
  expect(
    gapAbove('cpu_total_usage', [makeOrder()], { ...node, metrics: new Map([['cpu_total_usage', series]]) }),
  ).toBeCloseTo(1100, 6);
});

test('throttles are taken for cpu_total_usage and for metrics without a gap', () => {
  const names = [
    'cpu_total_usage',
    'cpu_total_utilization',
    'memory_total_usage',
    'memory_total_utilization',
    'cpu_load_1_min',
  ];
  expect(names.filter(isThrottleMetric)).toEqual(['cpu_total_usage', 'cpu_load_1_min']);
});

test('metrics without a gap come first', () => {
  const orders = ['memory_total_usage', 'disk_read_iops', 'cpu_total_usage', 'cpu_load_1_min', 'disk_read_iops'].map(
    (metric) => makeOrder({ metric }),
  );
  expect(metricsOf(orders)).toEqual(['cpu_load_1_min', 'disk_read_iops', 'cpu_total_usage', 'memory_total_usage']);
});
