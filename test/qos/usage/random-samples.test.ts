import { CpuSet } from '../../../src/core/cpuset';
import { deriveMetrics, type Measured, type MeasuredContainer } from '../../../src/qos/usage/derive-metrics';
import type { ContainerCounters, UsageSample } from '../../../src/qos/usage/sample';
import { createRandom, type Random } from '../../support/random';
import { containerOf, sampleAt, show } from './samples';

// Histories of counters that grow, stand still, fall and wrap; CPUs, disks, interfaces and containers come and go. What
// is derived is compared with a recomputation that follows the table of Crane's metrics line by line, and has bounds
// that always hold.

/** Most counters grow; some stand still, fall, or are reset. */
function next(random: Random, value: number, most: number): number {
  const kind = random.int(0, 19);
  if (kind === 0) return value;
  if (kind === 1) return Math.max(0, value - random.int(1, most));
  if (kind === 2) return random.int(0, most);
  return value + random.int(0, most);
}

function nextOf<T extends object>(
  random: Random,
  before: T | undefined,
  most: { readonly [Key in keyof T]: number },
): T {
  const entries = Object.entries<number>(most as Record<string, number>);
  const then = (before ?? {}) as Record<string, number>;
  return Object.fromEntries(entries.map(([key, limit]) => [key, next(random, then[key] ?? 0, limit)])) as T;
}

function nextMap<T>(random: Random, keys: readonly string[], make: (key: string) => T): Map<string, T> {
  return new Map(keys.filter(() => random.chance(0.9)).map((key) => [key, make(key)]));
}

const DISK = { reads: 1e4, writes: 1e4, readBytes: 1e9, writtenBytes: 1e9, busyMs: 1e4 };
const NETWORK = {
  receivedBytes: 1e9,
  sentBytes: 1e9,
  receivedPackets: 1e6,
  sentPackets: 1e6,
  droppedIn: 100,
  droppedOut: 100,
};
const IDS = ['a', 'b', 'c', 'd'];

function nextSample(random: Random, before: UsageSample | undefined): UsageSample {
  const seconds = (before ? before.monotonicNs / 1e9 : 1000) + (random.chance(0.05) ? 0 : random.int(1, 60));
  const cpus = Array.from({ length: 6 }, (_, id) => id).filter(() => random.chance(0.95));
  const counters = (id: string): ContainerCounters => {
    const then = before?.containers.get(id);
    const optional = nextOf(random, then as Required<ContainerCounters> | undefined, {
      monotonicNs: 1,
      cpuNs: 6e10,
      runQueueNs: 6e10,
      throttledNs: 6e10,
      throttledPeriods: 600,
      periods: 600,
      shares: 1000,
      quotaUs: 1e5,
      periodUs: 1e5,
      workingSetBytes: 1e9,
    });
    const { throttledNs: _, runQueueNs: __, ...without } = optional;
    const kept = random.chance(0.8) ? optional : without;
    return {
      ...kept,
      quotaUs: random.chance(0.5) ? -1 : kept.quotaUs,
      monotonicNs: seconds * 1e9 + random.int(0, 1e6),
    };
  };
  return sampleAt(seconds, {
    cpus: new Map(cpus.map((id) => [id, nextOf(random, before?.cpus.get(id), { busy: 6000, idle: 6000 })])),
    ...(random.chance(0.9) && { memory: { totalBytes: 1e9, availableBytes: random.int(0, 1.1e9) } }),
    ...(random.chance(0.9) && { load: [1, 2, 3] as const }),
    disks: nextMap(random, ['vda', 'vdb'], (name) => nextOf(random, before?.disks.get(name), DISK)),
    interfaces: nextMap(random, ['eth0', 'eth1'], (name) => nextOf(random, before?.interfaces.get(name), NETWORK)),
    containers: nextMap(random, IDS, counters),
  });
}

/** Follows the table of metrics; `undefined` stands for no series. */
function recompute(before: UsageSample | undefined, after: UsageSample, what: Measured): Record<string, number> {
  const wanted: Record<string, number | undefined> = {};
  const seconds = before ? (after.monotonicNs - before.monotonicNs) / 1e9 : 0;
  const perSecond = (then: number | undefined, now: number | undefined, time = seconds): number | undefined =>
    then === undefined || now === undefined || now < then || time <= 0 ? undefined : (now - then) / time;

  let [busy, all, common, idle] = [0, 0, 0, 0];
  let seen = 0;
  for (const [id, now] of after.cpus) {
    const then = before?.cpus.get(id);
    if (!then) continue;
    common++;
    const [moreBusy, moreIdle] = [now.busy - then.busy, now.idle - then.idle];
    busy += moreBusy;
    all += moreBusy + moreIdle;
    if (!what.exclusive.has(id)) continue;
    seen++;
    const total = moreBusy + moreIdle;
    if (total > 0) idle += Math.max(0, Math.min(1000, (moreIdle / total) * 1000));
  }
  const percent = busy <= 0 ? 0 : all <= 0 ? 100 : Math.max(0, Math.min(100, (busy / all) * 100));
  if (common > 0) {
    wanted['cpu_total_utilization'] = percent;
    wanted['cpu_total_usage'] = (percent / 100) * after.cpus.size * 1000;
  }
  wanted['cpu_core_numbers'] = after.cpus.size;
  if (before && (what.exclusive.isEmpty || seen > 0)) wanted['exclusive_cpu_idle'] = idle;
  const ofOwners = [...what.owners].map((id) => {
    const [then, now] = [before?.containers.get(id), after.containers.get(id)];
    return perSecond(then?.cpuNs, now?.cpuNs, then && now ? now.monotonicNs - then.monotonicNs : 0);
  });
  if (before && seen === what.exclusive.size && !ofOwners.includes(undefined)) {
    const owners = ofOwners.reduce<number>((sum, rate) => sum + rate! * 1000, 0);
    wanted['exclusive_cpu_owners'] = owners;
    wanted['exclusive_cpu_others'] = Math.max(0, 1000 * seen - idle - owners);
  }
  if (after.load)
    for (const [i, minutes] of ([1, 5, 15] as const).entries()) wanted[`cpu_load_${minutes}_min`] = after.load[i];
  if (after.memory) {
    const used = Math.max(0, after.memory.totalBytes - after.memory.availableBytes);
    wanted['memory_total_usage'] = used;
    wanted['memory_total'] = after.memory.totalBytes;
    wanted['memory_total_utilization'] = (100 * used) / after.memory.totalBytes;
  }
  for (const [name, now] of after.disks) {
    const then = before?.disks.get(name);
    const kib = (bytes: number | undefined): number | undefined => (bytes === undefined ? undefined : bytes / 1024);
    wanted[`disk_read_kibps{${name}}`] = kib(perSecond(then?.readBytes, now.readBytes));
    wanted[`disk_write_kibps{${name}}`] = kib(perSecond(then?.writtenBytes, now.writtenBytes));
    wanted[`disk_read_iops{${name}}`] = perSecond(then?.reads, now.reads);
    wanted[`disk_write_iops{${name}}`] = perSecond(then?.writes, now.writes);
    const busyMs = perSecond(then?.busyMs, now.busyMs);
    wanted[`disk_read_utilization{${name}}`] = busyMs === undefined ? undefined : (busyMs / 1000) * 100;
  }
  for (const [name, now] of after.interfaces) {
    const then = before?.interfaces.get(name);
    const kbit = (bytes: number | undefined): number | undefined =>
      bytes === undefined ? undefined : (bytes * 8) / 1000;
    wanted[`network_receive_kibps{${name}}`] = kbit(perSecond(then?.receivedBytes, now.receivedBytes));
    wanted[`network_sent_kibps{${name}}`] = kbit(perSecond(then?.sentBytes, now.sentBytes));
    wanted[`network_receive_pckps{${name}}`] = perSecond(then?.receivedPackets, now.receivedPackets);
    wanted[`network_sent_pckps{${name}}`] = perSecond(then?.sentPackets, now.sentPackets);
    wanted[`network_drop_in{${name}}`] = perSecond(then?.droppedIn, now.droppedIn);
    wanted[`network_drop_out{${name}}`] = perSecond(then?.droppedOut, now.droppedOut);
  }
  let [extCpus, extBytes] = [0, 0];
  for (const [id, { labels }] of what.containers) {
    const [then, now] = [before?.containers.get(id), after.containers.get(id)];
    if (!now) continue;
    const ns = then ? now.monotonicNs - then.monotonicNs : 0;
    const usage = perSecond(then?.cpuNs, now.cpuNs, ns);
    const wait = perSecond(then?.runQueueNs, now.runQueueNs, ns);
    wanted[`container_cpu_total_usage{${id}}`] = usage;
    wanted[`container_sched_run_queue_time{${id}}`] = wait === undefined ? undefined : wait * 1000 * 1000;
    wanted[`container_cpu_limit{${id}}`] = now.shares;
    wanted[`container_cpu_quota{${id}}`] = now.quotaUs;
    wanted[`container_cpu_period{${id}}`] = now.periodUs;
    wanted[`container_mem_total_usage{${id}}`] = now.workingSetBytes;
    if (labels.HasExtRes === 'true') {
      extCpus += usage ?? 0;
      extBytes += now.workingSetBytes ?? 0;
    }
  }
  if (before) wanted['ext_res_container_cpu_total_usage'] = extCpus;
  wanted['ext_res_container_mem_total_usage'] = extBytes;
  if (what.elasticCpu)
    wanted['ext_cpu_total_distribute'] =
      (what.elasticCpu.requestedMilliCpu / what.elasticCpu.allocatableMilliCpu) * 100;
  return Object.fromEntries(
    Object.entries(wanted).filter((entry): entry is [string, number] => entry[1] !== undefined),
  );
}

/** Equal but for the rounding of doubles. */
function isNear(value: number, wanted: number): boolean {
  return Math.abs(value - wanted) <= 1e-12 * Math.max(1, Math.abs(wanted));
}

function randomMeasured(random: Random): Measured {
  const subset = (): CpuSet => CpuSet.of([0, 1, 2, 3, 4, 5, 6].filter(() => random.chance(0.3)));
  const containers = new Map<string, MeasuredContainer>();
  for (const id of IDS)
    if (random.chance(0.9))
      containers.set(id, containerOf(id, random.chance(0.5) ? subset() : undefined, random.chance(0.5)));
  return {
    exclusive: subset(),
    owners: new Set(IDS.filter(() => random.chance(0.3))),
    containers,
    ...(random.chance(0.5) && { elasticCpu: { requestedMilliCpu: random.int(0, 9000), allocatableMilliCpu: 6000 } }),
  };
}

test.each([1, 2, 3, 4])(
  'random histories, seed %i: every value is the recomputed one, and within its bounds',
  (seed) => {
    const random = createRandom(seed);
    let before: UsageSample | undefined;
    for (let round = 0; round < 300; round++) {
      const after = nextSample(random, before);
      const what = randomMeasured(random);
      const { metrics, sets } = deriveMetrics(before, after, what);
      const found = show(metrics);
      const wanted = recompute(before, after, what);
      expect(Object.keys(found).sort()).toEqual(Object.keys(wanted).sort());
      const faults: unknown[] = [];
      for (const [name, value] of Object.entries(found))
        if (!isNear(value, wanted[name]!)) faults.push({ name, value, wanted: wanted[name] });

      const all = [...metrics].flatMap(([name, series]) => series.map((each) => ({ name, ...each })));
      // `show` would hide two series with one name and the same labels.
      expect(all).toHaveLength(Object.keys(found).length);
      for (const each of all) {
        const least = each.name === 'container_cpu_quota' ? -1 : 0;
        if (each.atMs !== after.atMs || !(each.value >= least) || !(each.value < Infinity)) faults.push(each);
      }
      for (const set of sets) {
        const { labels, cpus, usedMilliCpu, usedPart, idleMilliCpu = 0, throttledPart = 0, waitMsPerSecond } = set;
        const usage = wanted[`container_cpu_total_usage{${labels.ContainerId}}`]!;
        const wait = wanted[`container_sched_run_queue_time{${labels.ContainerId}}`];
        const isRight =
          cpus === what.containers.get(labels.ContainerId)!.ownCpus &&
          isNear(usedMilliCpu, 1000 * usage) &&
          isNear(usedPart, Math.min(1, usage / cpus.size)) &&
          [throttledPart, idleMilliCpu / 1000 / cpus.size].every((part) => part >= 0 && part <= 1) &&
          (wait === undefined ? waitMsPerSecond === undefined : isNear(waitMsPerSecond!, wait / 1000));
        if (!isRight) faults.push({ set, usage, wait });
      }
      expect(faults).toEqual([]);
      const withSets = [...what.containers].filter(
        ([id, { ownCpus }]) => ownCpus?.isEmpty === false && `container_cpu_total_usage{${id}}` in wanted,
      );
      expect(sets.map(({ labels }) => labels.ContainerId)).toEqual(withSets.map(([id]) => id));
      before = after;
    }
  },
);
