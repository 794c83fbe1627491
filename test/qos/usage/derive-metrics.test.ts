import { CpuSet, parseCpuList } from '../../../src/core/cpuset';
import { deriveMetrics } from '../../../src/qos/usage/derive-metrics';
import { dropStale } from '../../../src/qos/usage/drop-stale';
import type { Metrics } from '../../../src/qos/usage/metrics';
import { METRIC } from '../../../src/qos/usage/names';
import type { ContainerCounters, CpuTicks, DiskCounters, InterfaceCounters } from '../../../src/qos/usage/sample';
import { containerOf, countersAt, NOTHING, sampleAt, SECOND, show } from './samples';

const cpus = (...ticks: readonly (readonly [busy: number, idle: number])[]): ReadonlyMap<number, CpuTicks> =>
  new Map(ticks.map(([busy, idle], id) => [id, { busy, idle }]));

describe('CPUs', () => {
  const derive = (
    before: ReadonlyMap<number, CpuTicks>,
    after: ReadonlyMap<number, CpuTicks>,
    exclusive = CpuSet.empty,
  ) =>
    show(
      deriveMetrics(sampleAt(10, { cpus: before }), sampleAt(20, { cpus: after }), { ...NOTHING, exclusive }).metrics,
    );

  test.each`
    name                                          | before                     | after                         | percent | milli
    ${'a quarter of two CPUs'}                    | ${cpus([100, 0], [0, 50])} | ${cpus([140, 60], [10, 140])} | ${25}   | ${500}
    ${'no busy time'}                             | ${cpus([100, 0])}          | ${cpus([100, 1000])}          | ${0}    | ${0}
    ${'busy time counted back'}                   | ${cpus([100, 0])}          | ${cpus([90, 1000])}           | ${0}    | ${0}
    ${'idle time counted back by less than busy'} | ${cpus([0, 100])}          | ${cpus([1000, 90])}           | ${100}  | ${1000}
    ${'idle time counted back by more than busy'} | ${cpus([0, 2000])}         | ${cpus([1000, 90])}           | ${100}  | ${1000}
    ${'a CPU that came online has no rate yet'}   | ${cpus([0, 0])}            | ${cpus([50, 50], [1e6, 0])}   | ${50}   | ${1000}
    ${'a CPU that went offline counts no longer'} | ${cpus([0, 0], [0, 0])}    | ${cpus([50, 50])}             | ${50}   | ${500}
  `('$name', ({ before, after, percent, milli }) => {
    const found = derive(before, after);
    expect([found['cpu_total_utilization'], found['cpu_total_usage']]).toEqual([percent, milli]);
    expect(found['cpu_core_numbers']).toBe(after.size);
  });

  test('no CPU is in both readings: there is no utilization', () => {
    expect(derive(cpus(), cpus([5, 5]))).not.toHaveProperty('cpu_total_utilization');
  });

  test.each`
    name                               | exclusive | after                                 | want
    ${'no exclusive CPU'}              | ${''}     | ${cpus([0, 100], [0, 100], [0, 100])} | ${0}
    ${'one that is idle'}              | ${'1'}    | ${cpus([100, 0], [0, 100], [0, 100])} | ${1000}
    ${'two, half and quarter idle'}    | ${'1-2'}  | ${cpus([0, 100], [50, 50], [75, 25])} | ${750}
    ${'an idle time counted back'}     | ${'0-1'}  | ${cpus([100, -5], [0, 100], [0, 0])}  | ${1000}
    ${'more idle time than all'}       | ${'0'}    | ${cpus([-50, 100], [0, 9], [0, 9])}   | ${1000}
    ${'a CPU without time in between'} | ${'2'}    | ${cpus([0, 100], [0, 100], [0, 0])}   | ${0}
    ${'one of them is offline'}        | ${'2,7'}  | ${cpus([0, 0], [0, 0], [0, 100])}     | ${1000}
    ${'all of them are offline'}       | ${'7-8'}  | ${cpus([0, 0], [0, 0], [0, 100])}     | ${undefined}
  `('idle exclusive CPUs: $name', ({ exclusive, after, want }) => {
    const found = derive(cpus([0, 0], [0, 0], [0, 0]), after, parseCpuList(exclusive as string));
    expect(found['exclusive_cpu_idle']).toBe(want);
  });
});

test('the first reading gives only what needs no earlier one', () => {
  const sample = sampleAt(10, {
    cpus: cpus([1, 1], [1, 1]),
    load: [1, 2, 3],
    memory: { totalBytes: 1000, availableBytes: 250 },
    disks: new Map([['vda', disk(1)]]),
    interfaces: new Map([['eth0', network(1)]]),
    containers: new Map([['a', countersAt(10, { cpuNs: 5, runQueueNs: 5, shares: 2, workingSetBytes: 70 })]]),
  });
  const containers = new Map([['a', containerOf('a', undefined, true)]]);
  const { metrics, sets } = deriveMetrics(undefined, sample, { ...NOTHING, containers });
  expect(show(metrics)).toEqual({
    cpu_core_numbers: 2,
    cpu_load_1_min: 1,
    cpu_load_5_min: 2,
    cpu_load_15_min: 3,
    memory_total: 1000,
    memory_total_usage: 750,
    memory_total_utilization: 75,
    'container_cpu_limit{a}': 2,
    'container_mem_total_usage{a}': 70,
    ext_res_container_mem_total_usage: 70,
  });
  expect(sets).toEqual([]);
  expect([...metrics.values()].flat().map(({ atMs }) => atMs)).toEqual(Array(10).fill(sample.atMs));
});

test('memory that is counted as more than there is does not give a negative value', () => {
  const memory = { totalBytes: 0, availableBytes: 5 };
  expect(show(deriveMetrics(undefined, sampleAt(1, { memory }), NOTHING).metrics)).toMatchObject({
    memory_total: 0,
    memory_total_usage: 0,
  });
});

function disk(factor: number): DiskCounters {
  return {
    reads: 20 * factor,
    writes: 40 * factor,
    readBytes: 10240 * factor,
    writtenBytes: 20480 * factor,
    busyMs: 2500 * factor,
  };
}

function network(factor: number): InterfaceCounters {
  const packets = {
    receivedPackets: 30 * factor,
    sentPackets: 40 * factor,
    droppedIn: 10 * factor,
    droppedOut: 20 * factor,
  };
  return { receivedBytes: 1250 * factor, sentBytes: 2500 * factor, ...packets };
}

test('disks and interfaces: rates over ten seconds, reads and writes apart; the new ones have none', () => {
  const before = sampleAt(10, { disks: new Map([['vda', disk(1)]]), interfaces: new Map([['eth0', network(1)]]) });
  const after = sampleAt(20, {
    disks: new Map([['vda', disk(2)], ['vdb', disk(9)]]),
    interfaces: new Map([['eth0', network(2)], ['eth1', network(9)]]),
  }); // prettier-ignore
  const found = show(deriveMetrics(before, after, NOTHING).metrics);
  expect(found).toMatchObject({
    'disk_read_kibps{vda}': 1,
    'disk_write_kibps{vda}': 2,
    'disk_read_iops{vda}': 2,
    'disk_write_iops{vda}': 4,
    'disk_read_utilization{vda}': 25,
    'network_receive_kibps{eth0}': 1,
    'network_sent_kibps{eth0}': 2,
    'network_receive_pckps{eth0}': 3,
    'network_sent_pckps{eth0}': 4,
    'network_drop_in{eth0}': 1,
    'network_drop_out{eth0}': 2,
  });
  expect(Object.keys(found).filter((name) => /vdb|eth1/.test(name))).toEqual([]);
});

test('a counter that has wrapped has no rate; the others of the same interface have', () => {
  const before = sampleAt(10, { interfaces: new Map([['eth0', { ...network(1), receivedBytes: 2 ** 32 - 5 }]]) });
  const after = sampleAt(20, { interfaces: new Map([['eth0', network(2)]]) });
  const found = show(deriveMetrics(before, after, NOTHING).metrics);
  expect(found).not.toHaveProperty('network_receive_kibps{eth0}');
  expect(found).toMatchObject({ 'network_sent_kibps{eth0}': 2 });
});

describe('containers', () => {
  const derive = (
    before: Partial<ContainerCounters> | undefined,
    after: Partial<ContainerCounters> | undefined,
    { ownCpus, elastic = false }: { ownCpus?: CpuSet; elastic?: boolean } = {},
  ) => {
    const sample = (seconds: number, given: Partial<ContainerCounters> | undefined) =>
      sampleAt(seconds, { containers: new Map(given ? [['a', countersAt(seconds, given)]] : []) });
    return deriveMetrics(sample(10, before), sample(20, after), {
      ...NOTHING,
      containers: new Map([['a', containerOf('a', ownCpus, elastic)]]),
    });
  };

  test('use in CPUs, wait in µs a second, and what the cgroup has', () => {
    const { metrics } = derive(
      { cpuNs: 1 * SECOND, runQueueNs: 0.5 * SECOND },
      { cpuNs: 16 * SECOND, runQueueNs: 0.75 * SECOND, shares: 1024, quotaUs: -1, periodUs: 1e5, workingSetBytes: 7 },
    );
    expect(show(metrics)).toMatchObject({
      'container_cpu_total_usage{a}': 1.5,
      'container_sched_run_queue_time{a}': 25_000,
      'container_cpu_limit{a}': 1024,
      'container_cpu_quota{a}': -1,
      'container_cpu_period{a}': 100_000,
      'container_mem_total_usage{a}': 7,
      ext_res_container_cpu_total_usage: 0,
      ext_res_container_mem_total_usage: 0,
    });
    expect(metrics.get(METRIC.containerCpuTotalUsage)![0]!.labels).toEqual({
      PodName: 'pod-a',
      PodNamespace: 'shop',
      PodUid: 'uid-a',
      ContainerName: 'app',
      ContainerId: 'a',
      HasExtRes: 'false',
    });
  });

  test.each`
    name                                      | before                         | after                          | usage        | wait
    ${'a container that is new'}              | ${undefined}                   | ${{ cpuNs: 5, runQueueNs: 5 }} | ${undefined} | ${undefined}
    ${'a container that uses nothing'}        | ${{ cpuNs: 5, runQueueNs: 5 }} | ${{ cpuNs: 5, runQueueNs: 5 }} | ${0}         | ${0}
    ${'threads that ended took their wait'}   | ${{ cpuNs: 5, runQueueNs: 9 }} | ${{ cpuNs: 5, runQueueNs: 5 }} | ${0}         | ${undefined}
    ${'a CPU time that has fallen'}           | ${{ cpuNs: 9, runQueueNs: 5 }} | ${{ cpuNs: 5, runQueueNs: 5 }} | ${undefined} | ${0}
    ${'a wait that can be read again'}        | ${{ cpuNs: 5 }}                | ${{ cpuNs: 5, runQueueNs: 5 }} | ${0}         | ${undefined}
    ${'a wait that can not be read any more'} | ${{ cpuNs: 5, runQueueNs: 5 }} | ${{ cpuNs: 5 }}                | ${0}         | ${undefined}
  `('$name', ({ before, after, usage, wait }) => {
    const found = show(derive(before, after).metrics);
    expect(found['container_cpu_total_usage{a}']).toBe(usage);
    expect(found['container_sched_run_queue_time{a}']).toBe(wait);
  });

  test('one that was not read has no series', () => {
    const found = Object.keys(show(derive({ cpuNs: 5, workingSetBytes: 5 }, undefined).metrics));
    expect(found.filter((name) => name.includes('{a}'))).toEqual([]);
  });

  test('two readings at one time give no rate', () => {
    const { metrics } = derive({ monotonicNs: 20 * SECOND, cpuNs: 5 }, { cpuNs: 9 });
    expect(show(metrics)).not.toHaveProperty('container_cpu_total_usage{a}');
  });

  test('sums over those with elastic resources, in CPUs and bytes', () => {
    const containers = new Map(
      (['a', 'b', 'c'] as const).map((id) => [id, containerOf(id, undefined, id !== 'b')] as const),
    );
    const sample = (seconds: number, factor: number) =>
      sampleAt(seconds, {
        containers: new Map(
          [...containers.keys()].map((id, i) => [
            id,
            countersAt(seconds, { cpuNs: factor * (i + 1) * SECOND, workingSetBytes: 100 * (i + 1) }),
          ]),
        ),
      });
    const { metrics } = deriveMetrics(sample(10, 0), sample(20, 10), { ...NOTHING, containers });
    expect(show(metrics)).toMatchObject({
      ext_res_container_cpu_total_usage: 4,
      ext_res_container_mem_total_usage: 400,
    });
  });

  test.each`
    name                    | elastic                                                   | want
    ${'a part of it'}       | ${{ requestedMilliCpu: 1500, allocatableMilliCpu: 6000 }} | ${25}
    ${'more than there is'} | ${{ requestedMilliCpu: 9000, allocatableMilliCpu: 6000 }} | ${150}
    ${'nothing to be had'}  | ${{ requestedMilliCpu: 9000, allocatableMilliCpu: 0 }}    | ${undefined}
    ${'not known'}          | ${undefined}                                              | ${undefined}
  `('distributed gocrane.io/cpu: $name', ({ elastic, want }) => {
    const { metrics } = deriveMetrics(undefined, sampleAt(1), { ...NOTHING, ...(elastic && { elasticCpu: elastic }) });
    expect(show(metrics)['ext_cpu_total_distribute']).toBe(want);
  });
});

describe('promised sets', () => {
  const set = parseCpuList('1-2');
  const derive = (
    before: Partial<ContainerCounters>,
    after: Partial<ContainerCounters>,
    ownCpus: CpuSet | undefined = set,
  ) => {
    const sample = (seconds: number, given: Partial<ContainerCounters>, after: readonly number[]) =>
      sampleAt(seconds, {
        cpus: cpus([0, 0], [0, after[0]!], [after[1]!, after[2]!]),
        containers: new Map([['a', countersAt(seconds, given)]]),
      });
    const containers = new Map([['a', containerOf('a', ownCpus)]]);
    return deriveMetrics(sample(10, before, [0, 0, 0]), sample(20, after, [1000, 500, 500]), {
      ...NOTHING,
      exclusive: set,
      containers,
    }).sets;
  };

  test('use as a part and in milli-CPU, idle time, throttling and wait', () => {
    const [found, ...others] = derive(
      { cpuNs: 0, throttledNs: 0, runQueueNs: 0 },
      { cpuNs: 15 * SECOND, throttledNs: 5 * SECOND, runQueueNs: 0.1 * SECOND },
    );
    expect(others).toEqual([]);
    expect(found).toEqual({
      labels: containerOf('a').labels,
      cpus: set,
      atMs: sampleAt(20).atMs,
      usedMilliCpu: 1500,
      usedPart: 0.75,
      idleMilliCpu: 1500,
      throttledPart: 0.25,
      waitMsPerSecond: 10,
    });
  });

  test.each`
    name                                       | before                | after                                | want
    ${'without a quota nothing of throttling'} | ${{}}                 | ${{ throttledNs: 5 }}                | ${{ usedPart: 0 }}
    ${'a quota that is new'}                   | ${{ runQueueNs: 7 }}  | ${{ throttledNs: 5, runQueueNs: 5 }} | ${{ usedPart: 0 }}
    ${'more time than its CPUs have'}          | ${{}}                 | ${{ cpuNs: 21 * SECOND }}            | ${{ usedPart: 1, usedMilliCpu: 2100 }}
    ${'throttled on more CPUs than it has'}    | ${{ throttledNs: 0 }} | ${{ throttledNs: 90 * SECOND }}      | ${{ throttledPart: 1 }}
  `('$name', ({ before, after, want }) => {
    const [found] = derive(before, after);
    expect(found).toMatchObject(want as object);
    for (const name of ['throttledPart', 'waitMsPerSecond'])
      if (!(name in (want as object))) expect(found).not.toHaveProperty(name);
  });

  test.each`
    name                            | before           | after           | ownCpus
    ${'a container without CPUs'}   | ${{}}            | ${{}}           | ${null}
    ${'all its CPUs are offline'}   | ${{}}            | ${{}}           | ${CpuSet.empty}
    ${'a CPU time that has fallen'} | ${{ cpuNs: 10 }} | ${{ cpuNs: 5 }} | ${set}
  `('no entry: $name', ({ before, after, ownCpus }) => {
    const containers = new Map([['a', ownCpus === null ? containerOf('a') : containerOf('a', ownCpus as CpuSet)]]);
    const sample = (seconds: number, given: object) =>
      sampleAt(seconds, { containers: new Map([['a', countersAt(seconds, given)]]) });
    const what = { ...NOTHING, containers };
    expect(deriveMetrics(sample(10, before as object), sample(20, after as object), what).sets).toEqual([]);
  });
});

describe('dropStale', () => {
  const metrics: Metrics = new Map([
    ['a', [{ labels: {}, value: 1, atMs: 1000 }]],
    ['b', [{ labels: { x: 'old' }, value: 2, atMs: 999 }, { labels: { x: 'new' }, value: 3, atMs: 1001 }]],
    ['c', [{ labels: {}, value: 4, atMs: 500 }]],
  ]); // prettier-ignore
  const show = (kept: Metrics) => [...kept].map(([name, series]) => [name, ...series.map(({ value }) => value)]);

  test.each`
    name                               | nowMs        | maxAgeMs  | want
    ${'just old enough to be used'}    | ${11_000}    | ${10_000} | ${[['a', 1], ['b', 3]]}
    ${'all are fresh'}                 | ${1001}      | ${10_000} | ${[['a', 1], ['b', 2, 3], ['c', 4]]}
    ${'all are stale'}                 | ${1_000_000} | ${10_000} | ${[]}
    ${'the clock was set back far'}    | ${-50_000}   | ${10_000} | ${[]}
    ${'the clock was set back little'} | ${400}       | ${1000}   | ${[['a', 1], ['b', 2, 3], ['c', 4]]}
  `('$name', ({ nowMs, maxAgeMs, want }) => {
    expect(show(dropStale(metrics, nowMs as number, maxAgeMs as number))).toEqual(want);
  });
});
