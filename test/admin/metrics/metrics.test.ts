import { Metrics } from '../../../src/admin/metrics/metrics';
import { startMetricsServer } from '../../../src/admin/metrics/metrics-server';
import type { ContainerStatus, Status } from '../../../src/admin/model/status';
import { parseCpuList } from '../../../src/core/cpuset';
import { wellFormed } from '../../../src/core/show-text';
import { buildTopology } from '../../../src/core/topology';
import { POLICY_NAMES } from '../../../src/core/model/policies';
import { NodeDriver, without } from '../../core/transition/node-driver';
import { createRandom } from '../../support/random';
import { randomText, unsafeIn } from '../../support/unsafe-text';
import { sampleStatus } from '../sample-status';

const topology = buildTopology({
  cpus: [...parseCpuList('0-7')].map((id) => ({
    id,
    core: id >> 1,
    socket: 0,
    numaNode: id < 4 ? 0 : 1,
    uncoreCache: 0,
  })),
});
/** A node on which CPUs 2-5 are exclusive, and CPU 0 is reserved. */
const node = new NodeDriver(topology).run('make p/a 2; make q/a 2').model;
const log = { error: () => undefined, warn: () => undefined };

function createMetrics(): Metrics {
  return new Metrics({ status: () => sampleStatus, node });
}

async function samplesOf(metrics: Metrics): Promise<ReadonlyMap<string, number>> {
  const lines = (await metrics.expose()).split('\n').filter((line) => line && !line.startsWith('#'));
  return new Map(lines.map((line) => [line.replace(/ \S+$/, ''), Number(line.split(' ').at(-1))]));
}

test.each`
  sample                                                             | value
  ${'cpusetd_cpu_manager_shared_pool_size_millicores'}               | ${4000}
  ${'cpusetd_cpu_manager_exclusive_cpu_allocation_count'}            | ${4}
  ${'cpusetd_cpu_manager_allocation_per_numa{numa_node="0"}'}        | ${2}
  ${'cpusetd_cpu_manager_allocation_per_numa{numa_node="1"}'}        | ${2}
  ${'cpusetd_barred_cpus'}                                           | ${0}
  ${'cpusetd_free_cpus'}                                             | ${3}
  ${'cpusetd_free_units{unit="physical_cpu"}'}                       | ${1}
  ${'cpusetd_free_units{unit="uncore_cache"}'}                       | ${0}
  ${'cpusetd_free_units{unit="numa_node"}'}                          | ${0}
  ${'cpusetd_largest_aligned_request_cpus{boundary="physical_cpu"}'} | ${2}
  ${'cpusetd_largest_aligned_request_cpus{boundary="uncore_cache"}'} | ${3}
  ${'cpusetd_largest_aligned_request_cpus{boundary="numa_node"}'}    | ${2}
  ${'cpusetd_free_cpus_fragmentation_ratio'}                         | ${1 / 3}
  ${'cpusetd_container_verdicts{verdict="violated"}'}                | ${1}
  ${'cpusetd_container_verdicts{verdict="drifted"}'}                 | ${0}
  ${'cpusetd_container_verdicts{verdict="kept"}'}                    | ${1}
  ${'cpusetd_pause_container_verdicts{verdict="kept"}'}              | ${1}
  ${'cpusetd_pause_container_verdicts{verdict="violated"}'}          | ${0}
  ${'cpusetd_nri_connection_state{state="ready"}'}                   | ${1}
  ${'cpusetd_nri_connection_state{state="connecting"}'}              | ${0}
  ${'cpusetd_cri_connection_state{state="connecting"}'}              | ${1}
  ${'cpusetd_build_info{version="0.1.0"}'}                           | ${1}
`('$sample is $value', async ({ sample, value }) => {
  expect((await samplesOf(createMetrics())).get(sample)).toBe(value);
});

/** Two sockets of 8 CPUs, a pod with 3 CPUs of node 0 chosen by a scheduler, and an immovable pod. */
function nodeWithPods(): NodeDriver {
  const machine = buildTopology({
    cpus: Array.from({ length: 16 }, (_, id) => {
      return { id, core: id, socket: id >> 3, numaNode: id >> 3, uncoreCache: id >> 3 };
    }),
  });
  const driver = new NodeDriver(machine, { podPolicies: POLICY_NAMES });
  const result = [{ name: 'node0', type: 'Node', resources: { capacity: { cpu: '3' } } }];
  driver.podFields.set('scheduled', {
    annotations: {
      'topology.crane.io/cpu-policy': 'exclusive',
      'topology.crane.io/topology-result': JSON.stringify(result),
    },
  });
  driver.podFields.set('fixed', { annotations: { 'topology.crane.io/cpu-policy': 'immovable' } });
  return driver;
}

test.each`
  what                                                                             | history                                                      | offline  | counts
  ${'no container: 0'}                                                             | ${''}                                                        | ${''}    | ${[0, 0, 0]}
  ${'exclusive CPUs of a container: counted'}                                      | ${'make p/a 2'}                                              | ${''}    | ${[2, 2, 0]}
  ${'exclusive CPUs shared by two containers of a pod: counted once'}              | ${'make scheduled/a 2; make scheduled/b 1'}                  | ${''}    | ${[3, 3, 0]}
  ${'exclusive CPUs shared in a pod after one container has exited: counted once'} | ${'make scheduled/a 2; make scheduled/b 1; end scheduled/a'} | ${''}    | ${[3, 3, 0]}
  ${'immovable CPUs: not counted'}                                                 | ${'make fixed/a 2'}                                          | ${''}    | ${[0, 0, 0]}
  ${'immovable CPUs of an exited container: not counted'}                          | ${'make fixed/a 2; end fixed/a; make p/a 2'}                 | ${''}    | ${[2, 2, 0]}
  ${'idle CPUs of an exited container: counted'}                                   | ${'make p/a 2; make p/b 1; end p/a'}                         | ${''}    | ${[3, 3, 0]}
  ${'exclusive CPUs that are offline: not counted'}                                | ${'make p/a 9'}                                              | ${'8-9'} | ${[7, 1, 6]}
  ${'a container whose CPUs are all offline: 0'}                                   | ${'make p/a 2'}                                              | ${'1-2'} | ${[0, 0, 0]}
`('$what', async ({ history, offline, counts }: { history: string; offline: string; counts: number[] }) => {
  const driver = nodeWithPods();
  driver.run(history);
  driver.setTopology(without(driver.model.topology, offline));
  const samples = await samplesOf(new Metrics({ status: () => sampleStatus, node: driver.model }));
  const names = [
    'exclusive_cpu_allocation_count',
    'allocation_per_numa{numa_node="0"}',
    'allocation_per_numa{numa_node="1"}',
  ];
  expect(names.map((name) => samples.get(`cpusetd_cpu_manager_${name}`))).toEqual(counts);
});

test('random names and reasons add no line to the exposition', async () => {
  const random = createRandom(5);
  const text = () => wellFormed(randomText(random, 50));
  const status: Status = {
    ...sampleStatus,
    node: {
      ...sampleStatus.node,
      nri: { ...sampleStatus.node.nri, reason: text() },
      alarms: [{ kind: text(), subject: text(), because: text(), since: text() }],
    },
    containers: sampleStatus.containers.map((container) => ({
      ...container,
      pod: text(),
      because: text(),
      id: text(),
    })),
  };
  const lines = (await new Metrics({ status: () => status, node }).expose()).split('\n');
  const plain = (await createMetrics().expose()).split('\n');
  const nameOf = (line: string): string => line.replace(/ \S+$/, '');
  expect(lines.map(nameOf)).toEqual(plain.map(nameOf));
  expect(lines.map(unsafeIn).filter(Boolean)).toEqual([]);
});

describe('series of pinned containers', () => {
  const at = (second: number): string => new Date(second * 1_000).toISOString();
  const pinned = (n: number, fields: Partial<ContainerStatus> = {}): ContainerStatus => ({
    ...sampleStatus.containers[1]!,
    id: String(n),
    pod: `p${n}`,
    since: at(n),
    ...fields,
  });
  const expose = async (containers: readonly ContainerStatus[]) => {
    const status = { ...sampleStatus, containers };
    const samples = await samplesOf(new Metrics({ status: () => status, node, containerSeries: true }));
    return new Map([...samples].filter(([name]) => /^cpusetd_container(s_|_info|_cpus|_verdict\{)/.test(name)));
  };
  const listVerdicts = (samples: ReadonlyMap<string, number>) =>
    [...samples].flatMap(([name, value]) =>
      name.startsWith('cpusetd_container_verdict{') && value === 1 ? [/verdict="(.*)"/.exec(name)![1]!] : [],
    );

  test('a pinned container has its CPUs, nodes and verdict; shared and foreign ones have no series', async () => {
    expect(Object.fromEntries(await expose(sampleStatus.containers.filter(({ pod }) => pod !== 'far')))).toEqual({
      'cpusetd_container_info{namespace="default",pod="web",container="app",kind="static",cpus="2-3",numa_nodes="0"}': 1,
      'cpusetd_container_cpus{namespace="default",pod="web",container="app"}': 2,
      ...Object.fromEntries(
        ['unknown', 'kept', 'pending', 'drifted', 'violated', 'held-under-old-rules'].map((verdict) => [
          `cpusetd_container_verdict{namespace="default",pod="web",container="app",verdict="${verdict}"}`,
          verdict === 'violated' ? 1 : 0,
        ]),
      ),
      cpusetd_containers_without_series: 0,
    });
  });

  test('without the option there is none', async () => {
    const samples = await samplesOf(createMetrics());
    expect([...samples.keys()].filter((name) => name.includes('pod='))).toEqual([]);
  });

  test('of two containers with one name the younger has the series', async () => {
    const kept = { kind: 'kept', reason: '', since: at(0) } as const;
    const old = pinned(1, { pod: 'same' });
    const young = pinned(2, { pod: 'same', verdict: kept });
    for (const containers of [
      [old, young],
      [young, old],
    ])
      expect(listVerdicts(await expose(containers))).toEqual(['kept']);
  });

  test('the 250 that have their CPUs longest have series, and the others are counted', async () => {
    const containers = Array.from({ length: 253 }, (_, n) => pinned(n)).reverse();
    const samples = await expose(containers);
    expect(samples.get('cpusetd_containers_without_series')).toBe(3);
    const pods = [...samples.keys()].flatMap((name) => /_cpus\{.*pod="p(\d+)"/.exec(name)?.[1] ?? []);
    expect(pods.map(Number).sort((a, b) => a - b)).toEqual(Array.from({ length: 250 }, (_, n) => n));
  });

  test('names of any text make one line, no longer than the longest names of Kubernetes', async () => {
    const random = createRandom(6);
    const text = () => wellFormed(randomText(random, 2_000));
    const containers = Array.from({ length: 20 }, (_, n) =>
      pinned(n, { namespace: `${n}${text()}`, pod: text(), container: 'x'.repeat(10_000) }),
    );
    const samples = await expose(containers);
    expect(samples.size).toBe(20 * 8 + 1);
    const values = [...samples.keys()].flatMap((name) =>
      [...name.matchAll(/="((?:[^"\\]|\\.)*)"/g)].map(([, value]) => value!.replace(/\\(.)/g, '$1')),
    );
    expect(Math.max(...values.map(({ length }) => length))).toBe(253);
    expect(values.map(unsafeIn).filter(Boolean)).toEqual([]);
  });
});

test('each series of a counter is there from the start, so that its first event counts as growth', async () => {
  const before = await samplesOf(createMetrics());
  const metrics = createMetrics();
  metrics.refused('UNAVAILABLE', { entitled: true });
  metrics.drifted('systemd-reload');
  metrics.repaired('failed');
  metrics.allocationAligned('uncore_cache');
  const grown = [...(await samplesOf(metrics))].filter(([name, value]) => value !== before.get(name));
  expect(grown.map(([name]) => [name, before.get(name)])).toEqual([
    ['cpusetd_cpu_manager_pinning_errors_total', 0],
    ['cpusetd_container_aligned_compute_resources_count{scope="container",boundary="uncore_cache"}', 0],
    ['cpusetd_refusals_total{code="UNAVAILABLE"}', 0],
    ['cpusetd_drift_total{cause="systemd-reload"}', 0],
    ['cpusetd_repairs_total{outcome="failed"}', 0],
  ]);
});

test('a scrape reads the status once', async () => {
  const status = jest.fn(() => sampleStatus);
  const metrics = new Metrics({ status, node, containerSeries: true });
  await metrics.expose();
  await metrics.expose();
  expect(status).toHaveBeenCalledTimes(2);
});

test('each event increases its counter', async () => {
  const metrics = createMetrics();
  metrics.pinningRequested();
  metrics.pinningRequested();
  metrics.refused('RESOURCE_EXHAUSTED', { entitled: true });
  metrics.refused('INTERNAL', { entitled: false });
  metrics.fellBack();
  metrics.allocationAligned('physical_cpu');
  metrics.drifted('unknown-writer');
  metrics.repaired('ok');
  metrics.gapEnded({ seconds: 2.5, containers: 3 });
  metrics.decisionTook(0.00002);
  metrics.stateWriteTook(0.0002);
  metrics.cgroupWritesTook(0.002);
  expect(Object.fromEntries(await samplesOf(metrics))).toMatchObject({
    cpusetd_cpu_manager_pinning_requests_total: 2,
    cpusetd_cpu_manager_pinning_errors_total: 2,
    'cpusetd_refusals_total{code="RESOURCE_EXHAUSTED"}': 1,
    'cpusetd_container_aligned_compute_resources_count{scope="container",boundary="physical_cpu"}': 1,
    'cpusetd_drift_total{cause="unknown-writer"}': 1,
    'cpusetd_repairs_total{outcome="ok"}': 1,
    cpusetd_gap_seconds_total: 2.5,
    cpusetd_gap_containers_total: 3,
    'cpusetd_decision_seconds_bucket{le="0.00001"}': 0,
    'cpusetd_decision_seconds_bucket{le="0.00003"}': 1,
    cpusetd_state_write_seconds_count: 1,
    cpusetd_cgroup_write_seconds_sum: 0.002,
  });
});

test('/metrics is served over HTTP with the metrics of the process; other paths and methods are refused', async () => {
  const server = await startMetricsServer({ address: { host: '127.0.0.1', port: 0 }, metrics: createMetrics(), log });
  try {
    const base = `http://127.0.0.1:${server.port}`;
    const scrape = await fetch(`${base}/metrics?x=1`);
    expect(scrape.headers.get('content-type')).toContain('text/plain');
    const text = await scrape.text();
    expect(text).toContain('cpusetd_cpu_manager_shared_pool_size_millicores 4000');
    expect(text).toContain('process_resident_memory_bytes');
    expect((await fetch(`${base}/`)).status).toBe(404);
    expect((await fetch(`${base}/metrics`, { method: 'POST' })).status).toBe(405);
  } finally {
    await server.close();
    await server.close();
  }
});

test('figures of the process can be left out', async () => {
  const parts = { address: { host: '127.0.0.1', port: 0 }, metrics: createMetrics(), log };
  const server = await startMetricsServer({ ...parts, processFigures: false });
  try {
    const text = await (await fetch(`http://127.0.0.1:${server.port}/metrics`)).text();
    expect(text.match(/^(?!#)(?!cpusetd_).+$/gm)).toBeNull();
    expect(text).toContain('cpusetd_free_cpus 3\n');
  } finally {
    await server.close();
  }
});

test('metrics that can’t be read are answered with 500 and without the error text', async () => {
  const metrics = createMetrics();
  const server = await startMetricsServer({ address: { host: '127.0.0.1', port: 0 }, metrics, log });
  jest.spyOn(metrics, 'expose').mockRejectedValue(new Error('secret'));
  try {
    const answer = await fetch(`http://127.0.0.1:${server.port}/metrics`);
    expect([answer.status, await answer.text()]).toEqual([500, '']);
  } finally {
    await server.close();
  }
});

test('an address in use rejects with EADDRINUSE', async () => {
  const metrics = createMetrics();
  const first = await startMetricsServer({ address: { host: '127.0.0.1', port: 0 }, metrics, log });
  try {
    const address = { host: '127.0.0.1', port: first.port };
    await expect(startMetricsServer({ address, metrics: createMetrics(), log })).rejects.toMatchObject({
      code: 'EADDRINUSE',
    });
  } finally {
    await first.close();
  }
});
