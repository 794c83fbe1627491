import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { Alarms } from '../../../src/app/alarms/alarms';
import { Faults } from '../../../src/app/alarms/faults';
import type { Config } from '../../../src/app/config';
import { StateCollector, type Collected, type MetricsListener } from '../../../src/app/qos/state-collector';
import { CpuSet, parseCpuList } from '../../../src/core/cpuset';
import type { Container } from '../../../src/core/model/container';
import { NodeModel } from '../../../src/core/model/node-model';
import { NO_OPTIONS } from '../../../src/core/model/settings';
import { buildTopology } from '../../../src/core/topology';
import { openCgroups } from '../../../src/host';
import { V2_MACHINE, writeFiles } from '../../host/usage/stage';
import { show } from '../../qos/usage/samples';
import { useTempDirs } from '../../state/support/temp-dir';
import { containerCgroups } from '../../support/container-cgroups';
import { waitUntil } from '../../support/wait-until';
import type { MetricName } from '../../../src/qos/usage/names';

const makeDir = useTempDirs();

/** A node with four CPUs and staged files: `db` of the pod shop/db owns 2-3, `web` of shop/web shares. */
class Stage {
  readonly root = makeDir();
  readonly model: NodeModel;
  readonly logged: Record<string, unknown>[] = [];
  readonly alarms: Alarms;
  private readonly log = pino(
    { level: 'info' },
    { write: (line: string) => void this.logged.push(JSON.parse(line) as Record<string, unknown>) },
  );

  constructor() {
    const cpus = [0, 1, 2, 3].map((id) => ({ id, core: id, socket: 0, numaNode: 0, uncoreCache: 0 }));
    this.model = new NodeModel(buildTopology({ cpus }), {
      cpuManagerPolicy: 'static',
      options: NO_OPTIONS,
      reserved: parseCpuList('0'),
      minSharedCpus: 1,
      onInsufficientCpu: 'refuse',
      liftCpuQuota: false,
    });
    this.alarms = new Alarms({ log: this.log, now: () => '', onChange: () => undefined });
    for (const name of ['db', 'web', 'etcd'])
      this.model.apply({
        kind: 'put-pod',
        pod: {
          sandboxId: `s-${name}`,
          uid: `u-${name}`,
          namespace: 'shop',
          name,
          annotations: {},
          cgroupParent: '/p',
          stopped: false,
        },
      });
    this.model.apply({
      kind: 'put-assignment',
      assignment: {
        podUid: 'u-db',
        podNamespace: 'shop',
        podName: 'db',
        containerName: 'app',
        kind: 'static',
        cpus: parseCpuList('2-3'),
        mems: CpuSet.empty,
        requested: 2,
        containerId: 'db',
        quotaLifted: false,
        rules: { policy: 'static', options: [], reserved: parseCpuList('0') },
        because: 'test',
        since: '',
      },
    });
    this.put('db', { placement: 'exclusive', entitledCpus: 2 });
    this.put('web', {});
    this.at(0);
  }

  put(id: string, given: Partial<Container>): void {
    const container: Container = {
      id,
      sandboxId: `s-${id}`,
      podUid: `u-${id}`,
      name: 'app',
      cgroupsPath: `/p/${id}`,
      phase: 'running',
      resources: {},
      placement: 'shared',
      entitledCpus: 0,
      freshAssignment: false,
      because: 'test',
      ...given,
    };
    this.model.apply({ kind: 'put-container', container });
  }

  /** The counters after `step` seconds: CPU 2 is idle and 3 busy, `db` runs on one CPU, and `web` on half of one. */
  at(step: number): void {
    const stat = [0, 1, 2, 3].map(
      (id) => `cpu${id} ${id === 3 ? 100 * step : 0} 0 0 ${id === 2 ? 100 * step : 0} 0 0 0 0\n`,
    );
    writeFiles(this.root, { ...V2_MACHINE, 'proc/stat': stat.join('') });
    this.counters('db', step * 1e6);
    this.counters('web', step * 5e5);
    this.counters('etcd', step * 1e5);
  }

  counters(id: string, usageUs: number): void {
    writeFiles(this.root, {
      [`cgroup/p/${id}/cpu.stat`]: `usage_usec ${usageUs}\n`,
      [`cgroup/p/${id}/cgroup.procs`]: '11\n',
      [`cgroup/p/${id}/cgroup.threads`]: '11\n12\n',
      'proc/11/schedstat': '1 1000 1\n',
      'proc/12/schedstat': '1 2000 1\n',
    });
  }

  collector({
    onMetrics = [],
    elastic = [],
    statics = [],
    intervalMs = 10,
  }: {
    onMetrics?: readonly MetricsListener[];
    elastic?: readonly string[];
    statics?: readonly string[];
    intervalMs?: number;
  } = {}): StateCollector {
    const config = { cgroupRoot: join(this.root, 'cgroup'), sysfsRoot: join(this.root, 'sys') } as Config;
    const faults = new Faults({ log: this.log, alarms: this.alarms });
    const cgroups = containerCgroups(openCgroups(config), this.model, { log: this.log });
    return new StateCollector({
      context: { config, faults, cgroups, log: this.log, model: this.model },
      intervalMs,
      interfaces: [],
      pods: {
        hasElasticResources: (uid, name) => elastic.includes(`${uid}/${name}`),
        isStatic: (uid) => statics.includes(uid),
        elasticCpu: () => ({ requestedMilliCpu: 500, allocatableMilliCpu: 2000 }),
      },
      onMetrics,
      procRoot: join(this.root, 'proc'),
    });
  }
}

const labelsOf = (collected: Collected | undefined, name: string) =>
  (collected?.metrics.get(name) ?? []).map(({ labels }) => labels);

test('two rounds: metrics with the labels of the pod, and the use of the promised set', async () => {
  const stage = new Stage();
  const collector = stage.collector({ elastic: ['u-web/app'] });
  expect(collector.latest).toBeUndefined();
  await collector.round();
  expect(collector.latest!.sets).toEqual([]);
  expect(labelsOf(collector.latest, 'cpu_total_utilization')).toEqual([]);

  stage.at(10);
  await collector.round();
  const { metrics, sets, busyMs } = collector.latest!;
  expect(show(metrics)).toMatchObject({
    cpu_total_utilization: 50,
    cpu_total_usage: 2000,
    exclusive_cpu_idle: 1000,
    ext_cpu_total_distribute: 25,
  });
  const own = { PodNamespace: 'shop', ContainerName: 'app' };
  expect(labelsOf(collector.latest, 'container_cpu_total_usage')).toEqual([
    { ...own, PodName: 'db', PodUid: 'u-db', ContainerId: 'db', HasExtRes: 'false' },
    { ...own, PodName: 'web', PodUid: 'u-web', ContainerId: 'web', HasExtRes: 'true' },
  ]);
  const usage = show(metrics);
  expect(usage['ext_res_container_cpu_total_usage']).toBe(usage['container_cpu_total_usage{web}']);
  expect(sets).toMatchObject([
    { labels: { ContainerId: 'db' }, cpus: parseCpuList('2-3'), idleMilliCpu: 1000, waitMsPerSecond: 0 },
  ]);
  expect(usage['container_cpu_total_usage{db}']).toBeGreaterThan(0);
  expect(busyMs).toBeGreaterThan(0);
});

test('the threads of a container with CPUs of its own count, and of others only the leaders of processes', async () => {
  const stage = new Stage();
  const collector = stage.collector();
  await collector.round();
  stage.at(10);
  writeFileSync(join(stage.root, 'proc/12/schedstat'), '1 5000000000 1\n'); // a thread, and no leader
  await collector.round();
  const found = show(collector.latest!.metrics);
  expect(found['container_sched_run_queue_time{web}']).toBe(0);
  expect(found['container_sched_run_queue_time{db}']).toBeGreaterThan(0);
});

test.each`
  name                                | container
  ${'without a cgroup yet'}           | ${{ phase: 'created' }}
  ${'of a pod that is known static'}  | ${{}}
  ${'whose pod is gone'}              | ${{ sandboxId: 'gone' }}
  ${'whose path is none of a cgroup'} | ${{ cgroupsPath: '../etcd' }}
`('a container $name has no series', async ({ name, container }: { name: string; container: Partial<Container> }) => {
  const stage = new Stage();
  stage.put('etcd', container);
  const collector = stage.collector({ statics: name.includes('static') ? ['u-etcd'] : [] });
  await collector.round();
  stage.at(10);
  await collector.round();
  const ids = labelsOf(collector.latest, 'container_cpu_total_usage').map(({ ContainerId }) => ContainerId);
  expect(ids).toEqual(['db', 'web']);
});

test('the use of exclusive CPUs: by the owner and by others; not told of a time in which an owner ended', async () => {
  const stage = new Stage();
  const collector = stage.collector();
  const valueOf = (name: MetricName) => collector.latest?.metrics.get(name)?.[0]?.value;
  await collector.round();
  stage.at(1);
  await collector.round();
  // Its rate is by the time between the readings, which is short here.
  expect(valueOf('exclusive_cpu_owners')).toBeGreaterThan(0);
  expect(valueOf('exclusive_cpu_others')).toBeGreaterThanOrEqual(0);

  stage.at(2);
  stage.model.apply({ kind: 'drop-container', id: 'db' });
  await collector.round();
  // CPU 3 was busy with what db did before its end: that is no use by others.
  expect([valueOf('exclusive_cpu_owners'), valueOf('exclusive_cpu_others')]).toEqual([undefined, undefined]);
  stage.at(3);
  await collector.round();
  expect([valueOf('exclusive_cpu_owners'), valueOf('exclusive_cpu_others')]).toEqual([0, 1000]);
});

test('a container that is gone has no series any more, without a word in the log', async () => {
  const stage = new Stage();
  const collector = stage.collector();
  await collector.round();
  rmSync(join(stage.root, 'cgroup/p/web'), { recursive: true });
  await collector.round();
  expect(labelsOf(collector.latest, 'container_cpu_total_usage').map(({ PodName }) => PodName)).toEqual(['db']);
  expect(stage.logged).toEqual([]);
});

test('containers that can not be read are told once, with the reason', async () => {
  const stage = new Stage();
  rmSync(join(stage.root, 'cgroup/p/web/cpu.stat'));
  const collector = stage.collector();
  await collector.round();
  await collector.round();
  expect(stage.logged).toMatchObject([
    {
      msg: 'containers without usage metrics',
      containers: 1,
      containerId: 'web',
      because: expect.stringMatching(/web\/cpu\.stat: reading failed: ENOENT/),
    },
  ]);
});

test('a container whose path is none of a cgroup is told like one that can not be read', async () => {
  const stage = new Stage();
  stage.put('etcd', { cgroupsPath: '../etcd' });
  await stage.collector().round();
  expect(stage.logged).toMatchObject([
    {
      msg: 'containers without usage metrics',
      containers: 1,
      containerId: 'etcd',
      because: expect.stringMatching(/\.\.\/etcd/),
    },
  ]);
});

test('a round that fails leaves the metrics before it with their time, calls nobody, and is an alarm when it lasts', async () => {
  const stage = new Stage();
  const taken: Collected[] = [];
  const collector = stage.collector({ onMetrics: [{ part: 'test', take: (each) => void taken.push(each) }] });
  await collector.round();
  const good = collector.latest;
  rmSync(join(stage.root, 'proc/stat'));
  for (let round = 0; round < 3; round++) await collector.round();
  expect(collector.latest).toBe(good);
  expect(taken).toEqual([good]);
  expect(stage.alarms.list().map(({ subject }) => subject)).toEqual(['collecting usage']);

  stage.at(10);
  await collector.round();
  expect(stage.alarms.list()).toEqual([]);
  expect(collector.latest!.atMs).toBeGreaterThanOrEqual(good!.atMs);
  expect(show(taken[1]!.metrics)).toMatchObject({ cpu_total_utilization: 50 });
});

test('listeners are called in order, one after the other; one that fails does not keep the others from it', async () => {
  const stage = new Stage();
  const calls: string[] = [];
  const collector = stage.collector({
    onMetrics: [
      {
        part: 'slow',
        take: async () => {
          await new Promise(setImmediate);
          calls.push('slow');
        },
      },
      {
        part: 'broken',
        take: () => {
          throw new Error('it broke');
        },
      },
      { part: 'last', take: ({ atMs }) => void calls.push(`last ${atMs === collector.latest!.atMs}`) },
    ],
  });
  await collector.round();
  expect(calls).toEqual(['slow', 'last true']);
  expect(stage.logged).toMatchObject([{ part: 'broken', err: { message: 'it broke' } }]);
});

test('it runs in each interval until the signal is aborted', async () => {
  const stage = new Stage();
  let rounds = 0;
  const collector = stage.collector({
    intervalMs: 1,
    onMetrics: [
      {
        part: 'test',
        take: () => {
          rounds++;
        },
      },
    ],
  });
  const end = new AbortController();
  const running = collector.run(end.signal);
  await waitUntil('three rounds', () => rounds >= 3);
  end.abort();
  await running;
  const atEnd = rounds;
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(rounds).toBe(atEnd);
});

test('without cgroups it can not be made', () => {
  const stage = new Stage();
  rmSync(join(stage.root, 'cgroup'), { recursive: true });
  mkdirSync(join(stage.root, 'cgroup'));
  expect(() => stage.collector()).toThrow(/--cgroup-root/);
});
