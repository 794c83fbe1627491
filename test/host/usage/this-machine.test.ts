import { existsSync, readFileSync } from 'node:fs';
import { cpus as listCpus, totalmem } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { TimeSlices } from '../../../src/host';
import { UsageReader } from '../../../src/host/usage';
import { KernelCgroups } from '../../support/container-cgroups-on-kernel';
import { waitUntil } from '../../support/wait-until';
import { describeOnKernel } from '../cgroup/test-cgroup';

// The readings of this machine, each between two readings of the same counters from elsewhere: libuv and sysfs.

const open = () => new UsageReader({ cgroupRoot: '/sys/fs/cgroup', sysfsRoot: '/sys' });
const text = (path: string): string => readFileSync(path, 'utf8').trim();

const between = (before: number, value: number, after: number): void => {
  expect(value).toBeGreaterThanOrEqual(before);
  expect(value).toBeLessThanOrEqual(after);
};

describeOnKernel('counters of this machine', 'any', () => {
  const slices = new TimeSlices(3);

  test('each CPU has the idle time that libuv reads, and other time besides', async () => {
    const idleTicks = (): number[] => listCpus().map(({ times }) => times.idle / 10);
    const before = idleTicks();
    const { sample } = await open().read({ containers: [], interfaces: [] }, slices);
    const after = idleTicks();
    const found = [...sample.cpus.values()];
    expect(found).toHaveLength(before.length);
    for (const [i, { busy, idle }] of found.entries()) {
      // The kernel may count a tick of idle time back.
      between(before[i]! - 1, idle, after[i]! + 1);
      expect(busy).toBeGreaterThan(0);
    }
  });

  test('memory and load', async () => {
    const { sample } = await open().read({ containers: [], interfaces: [] }, slices);
    expect(sample.memory?.totalBytes).toBe(totalmem());
    between(1, sample.memory!.availableBytes, totalmem());
    expect(sample.load).toHaveLength(3);
    between(Date.now() - 60_000, sample.atMs, Date.now());
  });

  test('every disk has the counters that sysfs has', async () => {
    const first = (await open().read({ containers: [], interfaces: [] }, slices)).sample.disks;
    // reads, merged, sectors, ms, writes, merged, sectors, ms, under way, busy ms
    const readStats = () => new Map([...first.keys()].map((name) => [name, fieldsOf(`/sys/block/${name}/stat`)]));
    const before = readStats();
    const { sample } = await open().read({ containers: [], interfaces: [] }, slices);
    const after = readStats();
    expect([...sample.disks.keys()]).toEqual([...first.keys()]);
    for (const [name, disk] of sample.disks) {
      const [low, high] = [before.get(name)!, after.get(name)!];
      between(low[0]!, disk.reads, high[0]!);
      between(low[2]! * 512, disk.readBytes, high[2]! * 512);
      between(low[4]!, disk.writes, high[4]!);
      between(low[6]! * 512, disk.writtenBytes, high[6]! * 512);
      between(low[9]!, disk.busyMs, high[9]!);
    }
  });

  test('the loopback interface has the counters that sysfs has', async () => {
    const read = (): number[] =>
      ['rx_bytes', 'tx_bytes', 'rx_packets', 'tx_packets', 'rx_dropped', 'tx_dropped'].map((name) =>
        Number(text(`/sys/class/net/lo/statistics/${name}`)),
      );
    const before = read();
    const { sample } = await open().read({ containers: [], interfaces: ['lo', 'no-such-interface'] }, slices);
    const after = read();
    expect([...sample.interfaces.keys()]).toEqual(['lo']);
    const lo = sample.interfaces.get('lo')!;
    const { receivedBytes, sentBytes, receivedPackets, sentPackets, droppedIn, droppedOut } = lo;
    for (const [i, value] of [receivedBytes, sentBytes, receivedPackets, sentPackets, droppedIn, droppedOut].entries())
      between(before[i]!, value, after[i]!);
  });
});

const fieldsOf = (path: string): number[] => text(path).split(/\s+/).map(Number);

describeOnKernel('counters of containers on this kernel', 'any', () => {
  let cgroups: KernelCgroups;
  beforeEach(() => {
    cgroups = new KernelCgroups(`/cpusetd-test-usage-${process.pid}`);
  });
  afterEach(() => cgroups.remove());

  const read = async (cgroupPath: string, hasOwnCpus = true) => {
    const { sample, unread } = await open().read(
      { containers: [{ id: 'c1', cgroupPath, hasOwnCpus }], interfaces: [] },
      new TimeSlices(3),
    );
    expect([...unread]).toEqual([]);
    return sample.containers.get('c1');
  };

  test('two processes that want one CPU: their CPU time and their wait, as the kernel counts it for each of them', async () => {
    const path = cgroups.make('two', '1');
    const pids: number[] = [];
    for (let i = 0; i < 2; i++) pids.push((await cgroups.run(path, 'sh', '-c', 'while :; do :; done')).pid!);
    const schedstat = (field: number): number =>
      pids.reduce((sum, pid) => sum + fieldsOf(`/proc/${pid}/schedstat`)[field]!, 0);
    await waitUntil('both have waited for each other', () => schedstat(1) > 50e6);

    const waitBefore = schedstat(1);
    const first = await read(path);
    between(waitBefore, first!.runQueueNs!, schedstat(1));

    const ranBefore = schedstat(0);
    const inner = await read(path);
    const ranInner = schedstat(0);
    await delay(200);
    const ranAgain = schedstat(0);
    const last = await read(path);
    const ranAfter = schedstat(0);
    // Each side may lack what a CPU has not added up yet: a tick of at most 10 ms for each process.
    const slack = 2 * 10e6;
    between(ranAgain - ranInner - slack, last!.cpuNs - inner!.cpuNs, ranAfter - ranBefore + slack);
  });

  test('shares, quota and working set are those of the files', async () => {
    const path = cgroups.make('one', '0-1');
    await cgroups.run(path, 'sleep', '60');
    const isV2 = existsSync('/sys/fs/cgroup/cgroup.controllers');
    if (isV2) {
      cgroups.write(path, 'cpu', 'cpu.weight', '40');
      cgroups.write(path, 'cpu', 'cpu.max', '50000 100000');
    } else {
      cgroups.write(path, 'cpu', 'cpu.shares', '1024');
      cgroups.write(path, 'cpu', 'cpu.cfs_quota_us', '50000');
    }
    const found = await read(path, false);
    expect(found).toMatchObject({ shares: 1024, quotaUs: 50_000, periodUs: 100_000 });
    expect([found!.throttledNs, found!.throttledPeriods, found!.periods]).toEqual(Array(3).fill(expect.any(Number)));
    const usedFile = isV2 ? 'memory.current' : 'memory.usage_in_bytes';
    between(
      0,
      found!.workingSetBytes!,
      Number(text(`/sys/fs/cgroup/${isV2 ? '' : 'memory'}${path}/${usedFile}`)) + 1e6,
    );
  });

  test('a process beyond its quota is throttled', async () => {
    const path = cgroups.make('tight', '0-1');
    if (existsSync('/sys/fs/cgroup/cgroup.controllers')) cgroups.write(path, 'cpu', 'cpu.max', '5000 50000');
    else {
      cgroups.write(path, 'cpu', 'cpu.cfs_period_us', '50000');
      cgroups.write(path, 'cpu', 'cpu.cfs_quota_us', '5000');
    }
    await cgroups.run(path, 'sh', '-c', 'while :; do :; done');
    await waitUntil('it was throttled', async () => ((await read(path))?.throttledPeriods ?? 0) > 2);
    const found = await read(path);
    expect(found!.throttledNs).toBeGreaterThan(0);
    expect(found!.periods).toBeGreaterThanOrEqual(found!.throttledPeriods!);
  });

  test('a container that ends has no counters any more', async () => {
    const path = cgroups.make('ends', '0');
    expect(await read(path)).toBeDefined();
    await cgroups.remove();
    expect(await read(path)).toBeUndefined();
    cgroups = new KernelCgroups(`/cpusetd-test-usage-${process.pid}`);
  });
});
