import { formatUsage, type UsageReading } from '../../../src/admin/metrics/usage-metrics';
import { Metrics } from '../../../src/admin/metrics/metrics';
import { parseCpuList } from '../../../src/core/cpuset';
import type { Series } from '../../../src/qos/usage/metrics';
import { NodeDriver } from '../../core/transition/node-driver';
import { sampleStatus } from '../sample-status';
import { labelsOf, sampleReading } from './sample-usage';

const AT = 1_700_000_000_000;
const all = { maxAgeMs: 30_000, nowMs: AT, containerSeries: true };

const samplesOf = (text: string): ReadonlyMap<string, number> =>
  new Map(
    text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => [line.replace(/ \S+$/, ''), Number(line.split(' ').at(-1))]),
  );
const readingOf = (series: Partial<Record<string, readonly Series[]>>): UsageReading => ({
  metrics: new Map(Object.entries(series) as [string, readonly Series[]][]),
  sets: [],
  atMs: AT,
  busyMs: 1,
});

test('each collected metric is exposed under its name, with labels in the spelling of the other series', () => {
  const reading = sampleReading(AT);
  const samples = samplesOf(formatUsage(reading, all));
  const exposed = (name: string): [string, number][] =>
    [...samples].filter(([sample]) => sample.replace(/\{.*/, '') === `cpusetd_${name}`);
  for (const [name, [series]] of reading.metrics)
    expect([name, exposed(name).map(([, value]) => value)]).toEqual([name, [series!.value]]);
  expect([...samples.keys()]).toEqual(
    expect.arrayContaining([
      'cpusetd_cpu_total_utilization',
      'cpusetd_disk_read_kibps{disk="nvme0n1"}',
      'cpusetd_network_drop_in{interface="eth0"}',
      'cpusetd_container_cpu_total_usage{namespace="default",pod="web",container="app",has_ext_res="false"}',
    ]),
  );
});

test.each`
  sample                                                                                            | value
  ${'cpusetd_promised_set_used_cores{namespace="default",pod="web",container="app"}'}               | ${0.7505}
  ${'cpusetd_promised_set_used_cores{namespace="default",pod="far",container="numa"}'}              | ${3}
  ${'cpusetd_promised_set_wait_seconds_per_second{namespace="default",pod="web",container="app"}'}  | ${0.01225}
  ${'cpusetd_promised_set_wait_seconds_per_second{namespace="default",pod="far",container="numa"}'} | ${undefined}
  ${'cpusetd_promised_set_throttled_ratio{namespace="default",pod="web",container="app"}'}          | ${0.2}
  ${'cpusetd_promised_set_throttled_ratio{namespace="default",pod="far",container="numa"}'}         | ${undefined}
  ${'cpusetd_usage_containers_without_series'}                                                      | ${0}
  ${'cpusetd_usage_last_timestamp_seconds'}                                                         | ${1_700_000_000}
  ${'cpusetd_usage_max_age_seconds'}                                                                | ${30}
  ${'cpusetd_usage_busy_seconds'}                                                                   | ${0.0045}
`('$sample is $value', ({ sample, value }) => {
  expect(samplesOf(formatUsage(sampleReading(AT), all)).get(sample as string)).toBe(value);
});

test('without container-metrics no series has the name of a container', () => {
  const text = formatUsage(sampleReading(AT), { ...all, containerSeries: false });
  expect(text).toContain('cpusetd_cpu_total_usage ');
  expect(text).not.toMatch(/pod=|promised_set|containers_without_series/);
});

test('values vanish when they are older than allowed, each by its own time; the time of the reading stays', () => {
  const reading = sampleReading(AT);
  const old = [{ labels: {}, value: 1, atMs: AT - 30_001 }];
  const mixed = { ...reading, metrics: new Map([...reading.metrics, ['memory_total', old]]) };
  const names = (nowMs: number): string[] => [...samplesOf(formatUsage(mixed, { ...all, nowMs })).keys()];
  expect(names(AT)).toContain('cpusetd_cpu_total_usage');
  expect(names(AT)).not.toContain('cpusetd_memory_total');
  expect(names(AT + 30_000)).toContain('cpusetd_cpu_total_usage');
  expect(names(AT + 30_001)).toEqual([
    'cpusetd_usage_containers_without_series',
    'cpusetd_usage_last_timestamp_seconds',
    'cpusetd_usage_max_age_seconds',
    'cpusetd_usage_busy_seconds',
  ]);
});

test('nothing read: no line', () => {
  expect(formatUsage(undefined, all)).toBe('');
});

test('given two containers of one name, the later counts; no series is there twice', () => {
  const text = formatUsage(
    {
      ...readingOf({
        container_cpu_total_usage: [
          { labels: labelsOf('web', 'app', 'old'), value: 1, atMs: AT },
          { labels: labelsOf('web', 'app', 'new'), value: 2, atMs: AT },
        ],
      }),
      sets: [10, 20].map((usedMilliCpu) => {
        return { namespace: 'n', pod: 'p', container: 'c', containerId: 'x', cpus: parseCpuList('1'), usedMilliCpu };
      }),
    },
    all,
  );
  const lines = text.split('\n').filter((line) => line.includes('pod='));
  expect(lines.map((line) => line.split(' ').at(-1))).toEqual(['2', '0.02']);
});

test('a metric that is not known, and a value that is no number, are left out', () => {
  const text = formatUsage(
    readingOf({
      made_up: [{ labels: {}, value: 1, atMs: AT }],
      cpu_total_usage: [{ labels: {}, value: Number.NaN, atMs: AT }],
    }),
    all,
  );
  expect(text).not.toMatch(/made_up|cpu_total_usage/);
});

test('250 containers have series, those with promised CPUs first, and the others are counted', () => {
  const series = Array.from({ length: 300 }, (_, i) => ({ labels: labelsOf(`pod-${i}`, 'c'), value: i, atMs: AT }));
  const cpus = parseCpuList('1');
  const sets = [{ namespace: 'default', pod: 'pod-299', container: 'c', containerId: 'x', cpus, usedMilliCpu: 1 }];
  const text = formatUsage(
    { ...readingOf({ container_cpu_total_usage: series, container_cpu_limit: series }), sets },
    all,
  );
  const samples = samplesOf(text);
  const counted = (name: string): number =>
    [...samples.keys()].filter((key) => key.startsWith(`cpusetd_${name}{`)).length;
  expect([counted('container_cpu_total_usage'), counted('container_cpu_limit')]).toEqual([250, 250]);
  expect(text).toContain('pod="pod-299"');
  expect(samples.get('cpusetd_usage_containers_without_series')).toBe(50);
});

test('names with quotes and line breaks stay in their label', () => {
  const labels = { ...labelsOf('a"\n# TYPE x gauge\\', 'c'), diskName: 'sd"a\n' };
  const text = formatUsage(
    readingOf({
      container_cpu_total_usage: [{ labels, value: 1, atMs: AT }],
      disk_read_iops: [{ labels, value: 1, atMs: AT }],
    }),
    all,
  );
  const wrong = text
    .split('\n')
    .filter((line) => line !== '' && !/^(# (HELP|TYPE) cpusetd_|cpusetd_\w+(\{.*\})? \d)/.test(line));
  expect(wrong).toEqual([]);
  expect(text).toContain('disk="sd\\"a\\\\u000a"');
});

test('each scrape has the last reading; nothing is exposed before the first', async () => {
  const metrics = new Metrics({ status: () => sampleStatus, node: new NodeDriver().model, containerSeries: true });
  expect(await metrics.expose()).not.toMatch(/cpusetd_(usage|qos)_/);
  const readings: UsageReading[] = [];
  let now = AT;
  metrics.addUsage(() => readings.at(-1), { maxAgeMs: () => 30_000, nowMs: () => now });
  expect(await metrics.expose()).not.toContain('cpusetd_usage_');
  readings.push(sampleReading(AT));
  expect(samplesOf(await metrics.expose()).get('cpusetd_cpu_total_utilization')).toBe(1);
  now += 30_001;
  expect(samplesOf(await metrics.expose()).has('cpusetd_cpu_total_utilization')).toBe(false);
});
