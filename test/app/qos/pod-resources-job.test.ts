import { basename } from 'node:path';
import { pino } from 'pino';
import { Alarms } from '../../../src/app/alarms/alarms';
import { Faults } from '../../../src/app/alarms/faults';
import { PodResourcesJob } from '../../../src/app/qos/pod-resources-job';
import { QuotaWriter, type CpuUpdate } from '../../../src/app/qos/quota-writer';
import type { NodeView } from '../../../src/core/model/node-view';
import type { Cgroups } from '../../../src/host';
import type { QosPod } from '../../../src/qos/objects/objects';
import { readable } from '../../support/container-cgroups';

const podOf = (name: string): QosPod => ({
  uid: `uid-${name}`,
  runtimeUid: `uid-${name}`,
  namespace: 'jobs',
  name,
  labels: {},
  qos: 'BestEffort',
  priority: 0,
  isCritical: false,
  isStatic: false,
  phase: 'Running',
  isBeingDeleted: false,
  startedAtMs: 0,
  containers: [{ name: 'main', elasticRequestMilliCpu: 2_000, elasticLimitMilliCpu: 2_000 }],
});

/** A node with one container for each pod; the id of it is the name of the pod. */
const setUp = (names: readonly string[], throttled: readonly string[] = []) => {
  const lines: Record<string, unknown>[] = [];
  const log = pino(
    { level: 'info' },
    { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) },
  );
  const faults = new Faults({ log, alarms: new Alarms({ log, now: () => '', onChange: () => undefined }) });
  const containers = new Map(
    names.map((name) => {
      const [phase, placement, cgroupsPath] = ['running', 'shared', `/pods/${name}`];
      return [name, { podUid: `uid-${name}`, phase, placement, cgroupsPath }];
    }),
  );
  const model = { containers } as unknown as NodeView;
  const quotas = new Map(names.map((name) => [name, -1]));
  const end = new AbortController();
  const updates: string[] = [];
  const clock = { nowMs: 0 };
  const runtime = {
    update: (_change: CpuUpdate): void | Promise<void> => undefined,
    /** It takes updates, and carries none out. */
    isDeaf: false,
  };
  const job = new PodResourcesJob({
    context: { faults, log, model },
    pods: () => names.map(podOf),
    quotas: new QuotaWriter({
      model,
      update: async (change) => {
        updates.push(change.containerId);
        await runtime.update(change);
        if (!runtime.isDeaf) quotas.set(change.containerId, change.quotaUs!);
      },
      cgroups: readable({
        readQuota: (path) => ({ kind: 'found', quotaUs: quotas.get(basename(path))!, periodUs: 100_000 }),
      } as Pick<Cgroups, 'readQuota'> as Cgroups),
    }),
    isThrottled: (id) => throttled.includes(id),
    maxAgeMs: 60_000,
    signal: end.signal,
    nowMs: () => clock.nowMs,
  });
  return {
    job,
    lines,
    containers,
    quotas,
    end,
    updates,
    clock,
    runtime,
    /** One collection, of what the cgroups have now. */
    collect: (atMs = (clock.nowMs += 10_000)): void => {
      const read = (value: (name: string) => number) =>
        names.map((name) => ({
          labels: { PodUid: `uid-${name}`, ContainerName: 'main', ContainerId: name },
          value: value(name),
          atMs,
        }));
      const metrics = new Map([
        ['container_cpu_quota', read((name) => quotas.get(name)!)],
        ['container_cpu_period', read(() => 100_000)],
      ]);
      job.onMetrics({ metrics, atMs });
    },
  };
};

test('containers without a quota get one after a collection, once, and each is told', async () => {
  const { job, collect, quotas, updates, lines } = setUp(['a', 'b']);
  collect();
  await job.finish();
  collect();
  await job.finish();
  expect([...quotas]).toEqual([
    ['a', 200_000],
    ['b', 200_000],
  ]);
  expect(updates).toEqual(['a', 'b']);
  expect(job.figures).toEqual({ updated: 2, failed: 0 });
  expect(lines.map(({ msg, pod, quotaUs, podUid }) => [msg, pod, quotaUs, podUid])).toEqual([
    ['a container has the quota of its gocrane.io/cpu', 'jobs/a', 200_000, 'uid-a'],
    ['a container has the quota of its gocrane.io/cpu', 'jobs/b', 200_000, 'uid-b'],
  ]);
});

test('containers that are pinned, throttled, not running or gone are left alone', async () => {
  const { job, collect, containers, updates } = setUp(
    ['pinned', 'fixed', 'numa', 'alone', 'slow', 'starting', 'gone'],
    ['slow'],
  );
  containers.get('pinned')!.placement = 'exclusive';
  containers.get('fixed')!.placement = 'immovable';
  containers.get('numa')!.placement = 'numa';
  Object.assign(containers.get('alone')!, { placement: 'left-alone', leftAlone: true });
  containers.get('starting')!.phase = 'starting';
  containers.delete('gone');
  collect();
  await job.finish();
  expect(updates).toEqual(['numa']);
});

test('a failed update is tried again after each collection, told once, and does not hold up the others', async () => {
  const { job, collect, quotas, lines, runtime } = setUp(['a', 'b']);
  runtime.update = ({ containerId }) => {
    if (containerId === 'a') throw new Error('the runtime is away');
  };
  for (let round = 0; round < 3; round += 1) {
    collect();
    await job.finish();
  }
  expect([...quotas.values()]).toEqual([-1, 200_000]);
  expect(job.figures).toEqual({ updated: 1, failed: 3 });
  expect(lines.filter(({ level }) => level === 40).map(({ because }) => because)).toEqual(['the runtime is away']);
  runtime.update = () => undefined;
  collect();
  await job.finish();
  expect(quotas.get('a')).toBe(200_000);
});

test('a container has its quota when the kernel has it, whatever the runtime says', async () => {
  const { job, collect, lines, runtime } = setUp(['a']);
  runtime.isDeaf = true;
  for (let round = 0; round < 2; round += 1) {
    collect();
    await job.finish();
  }
  expect(job.figures).toEqual({ updated: 0, failed: 2 });
  const why = 'the kernel has no quota after the runtime took 200000 µs';
  expect(lines.map(({ level, because }) => [level, because])).toEqual([[40, why]]);
  runtime.isDeaf = false;
  collect();
  await job.finish();
  expect(job.figures).toEqual({ updated: 1, failed: 2 });
  expect(lines.map(({ msg }) => msg).at(-1)).toBe('a container has the quota of its gocrane.io/cpu');
});

test('figures from before an update do not tell its quota: it is not made twice', async () => {
  const { job, collect, quotas, updates, clock } = setUp(['a']);
  collect();
  await job.finish();
  quotas.set('a', -1);
  collect(clock.nowMs);
  await job.finish();
  expect(updates).toEqual(['a']);
  collect();
  await job.finish();
  expect(updates).toEqual(['a', 'a']);
});

test('a slow runtime has one update at a time', async () => {
  const { job, collect, updates, runtime } = setUp(['a', 'b']);
  let answer = (): void => undefined;
  runtime.update = () =>
    new Promise((resolve) => {
      answer = resolve;
    });
  collect();
  collect();
  expect(updates).toEqual(['a']);
  runtime.update = () => undefined;
  answer();
  await job.finish();
  expect(updates).toEqual(['a', 'b']);
});

test('after the end nothing is begun, and quotas stay as they are', async () => {
  const { job, collect, updates, quotas, end } = setUp(['a']);
  collect();
  await job.finish();
  end.abort();
  quotas.set('a', -1);
  collect();
  await job.finish();
  expect(updates).toEqual(['a']);
});
