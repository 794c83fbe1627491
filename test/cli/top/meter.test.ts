import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ContainerStatus, Status } from '../../../src/admin/model/status';
import { TopMeter } from '../../../src/cli/top/meter';
import { parseCpuList } from '../../../src/core/cpuset';
import { container, sampleStatus } from '../../admin/sample-status';
import { useTempDirs } from '../../state/support/temp-dir';

const makeDir = useTempDirs();
const idOf = (letter: string): string => letter.repeat(64);

interface Task {
  readonly container?: string;
  readonly lastCpu?: number;
  readonly allowed?: string;
  readonly ranMs?: number;
  readonly waitedMs?: number;
}

/** The /proc and the cgroups (version 2) of a machine with eight CPUs, with a clock of its own. */
class FakeHost {
  readonly procRoot = makeDir();
  readonly cgroupRoot = makeDir();
  private readonly clock = jest.spyOn(process.hrtime, 'bigint');
  private seconds = 100;
  private readonly threads = new Map<string, number[]>();

  constructor() {
    writeFileSync(join(this.cgroupRoot, 'cgroup.controllers'), 'cpuset cpu memory\n');
    writeFileSync(join(this.procRoot, 'stat'), '');
    this.pass(0);
  }

  /** Lets time pass. */
  pass(seconds: number): void {
    this.seconds += seconds;
    this.clock.mockReturnValue(BigInt(this.seconds * 1e9));
    writeFileSync(join(this.procRoot, 'uptime'), `${this.seconds}.00 1.00\n`);
  }

  /** A process with one thread; `container` is the letter of its container. The times are since its start. */
  task(pid: number, { container, lastCpu = 0, allowed = '0-7', ranMs = 0, waitedMs = 0 }: Task): void {
    const dir = join(this.procRoot, `${pid}/task/${pid}`);
    mkdirSync(dir, { recursive: true });
    const zeros = (count: number): string => Array<number>(count).fill(0).join(' ');
    const stat = `${pid} (t${pid}) S 1 0 0 0 -1 0 ${zeros(12)} 10 ${zeros(16)} ${lastCpu} 0`;
    const cgroup =
      container === undefined ? '/system.slice/x.service' : `/kubepods/pod-${container}/${idOf(container)}`;
    const schedstat = `${ranMs * 1e6} ${waitedMs * 1e6} 1\n`;
    writeFileSync(join(this.procRoot, `${pid}/cgroup`), `0::${cgroup}\n`);
    writeFileSync(join(this.procRoot, `${pid}/schedstat`), schedstat);
    writeFileSync(join(dir, 'stat'), stat);
    writeFileSync(join(dir, 'status'), `Cpus_allowed_list:\t${allowed}\n`);
    writeFileSync(join(dir, 'schedstat'), schedstat);
    if (container !== undefined)
      this.threads.set(container, [...new Set([...(this.threads.get(container) ?? []), pid])]);
  }

  cgroup(letter: string, { usedMs, throttledMs }: { usedMs: number; throttledMs?: number }): void {
    const dir = join(this.cgroupRoot, `kubepods/pod-${letter}/${idOf(letter)}`);
    mkdirSync(dir, { recursive: true });
    const throttling =
      throttledMs === undefined ? '' : `nr_periods 9\nnr_throttled 1\nthrottled_usec ${throttledMs * 1000}\n`;
    writeFileSync(join(dir, 'cpu.stat'), `usage_usec ${usedMs * 1000}\n${throttling}`);
    writeFileSync(join(dir, 'cpu.max'), throttledMs === undefined ? 'max 100000\n' : '100000 100000\n');
    writeFileSync(join(dir, 'cgroup.threads'), (this.threads.get(letter) ?? []).map((pid) => `${pid}\n`).join(''));
  }
}

function owner(letter: string, cpus: string, fields: Partial<ContainerStatus> = {}): ContainerStatus {
  const known = { id: idOf(letter), pod: letter, container: 'app', placement: 'exclusive', requested: 1 } as const;
  const promise = { cpus: parseCpuList(cpus), mems: parseCpuList('') };
  return { ...container(known), promise, kind: 'static', ...fields };
}

const statusOf = (...containers: readonly ContainerStatus[]): Status => ({ ...sampleStatus, containers });

afterEach(() => jest.restoreAllMocks());

test('the first reading has no figures; the second has use, wait, throttling and others of the time between them', async () => {
  const host = new FakeHost();
  const meter = new TopMeter(host);
  const status = statusOf(
    owner('a', '2-3'),
    container({ id: 'b', pod: 'b', container: 's', placement: 'shared', requested: 0 }),
  );
  host.task(10, { container: 'a', lastCpu: 2, allowed: '2-3', ranMs: 1_000, waitedMs: 100 });
  host.task(20, { lastCpu: 3, ranMs: 500 });
  host.cgroup('a', { usedMs: 1_000, throttledMs: 0 });
  const first = await meter.read(status);
  expect(first.containers).toMatchObject([{ pod: 'a', containerId: idOf('a'), verdict: { kind: 'unknown' } }]);
  expect(first.containers[0]).not.toHaveProperty('usedPercent');
  expect(first).not.toHaveProperty('seconds');

  host.pass(4);
  host.task(10, { container: 'a', lastCpu: 2, allowed: '2-3', ranMs: 5_000, waitedMs: 500 });
  host.task(20, { lastCpu: 3, ranMs: 1_300 });
  host.cgroup('a', { usedMs: 5_000, throttledMs: 800 });
  expect(await meter.read(status)).toMatchObject({
    nodeName: 'worker-1',
    seconds: 4,
    containers: [
      {
        usedMilliCpu: 1_000,
        usedPercent: 50,
        waitMsPerSecond: 100,
        throttledPercent: 10,
        foreign: { percent: 10, threads: 1, most: 't20' },
      },
    ],
  });
});

test('a container that drifted off its CPUs is measured too', async () => {
  const host = new FakeHost();
  const meter = new TopMeter(host);
  const status = statusOf(owner('a', '2-3'));
  host.task(10, { container: 'a', lastCpu: 6, allowed: '6-7' });
  host.cgroup('a', { usedMs: 0 });
  await meter.read(status);
  host.pass(2);
  host.cgroup('a', { usedMs: 2_000 });
  const [first] = (await meter.read(status)).containers;
  expect(first).toMatchObject({ usedPercent: 50, waitMsPerSecond: 0, foreign: { percent: 0, threads: 0 } });
  expect(first).not.toHaveProperty('throttledPercent'); // it has no quota
});

test('immovable CPUs are shared with the pool, so nobody there is foreign', async () => {
  const host = new FakeHost();
  const meter = new TopMeter(host);
  const status = statusOf(owner('a', '2', { placement: 'immovable', kind: 'immovable' }));
  host.task(10, { container: 'a', lastCpu: 2 });
  host.task(20, { lastCpu: 2 });
  host.cgroup('a', { usedMs: 0 });
  await meter.read(status);
  host.pass(1);
  host.task(20, { lastCpu: 2, ranMs: 900 });
  host.cgroup('a', { usedMs: 100 });
  const [first] = (await meter.read(status)).containers;
  expect(first).toMatchObject({ placement: 'immovable', usedPercent: 10 });
  expect(first).not.toHaveProperty('foreign');
});

test('containers of a pod that share its CPUs are no strangers to each other', async () => {
  const host = new FakeHost();
  const meter = new TopMeter(host);
  const shared = { podUid: 'u', kind: 'exclusive', scope: 'pod' } as const;
  const status = statusOf(owner('a', '2-3', shared), owner('b', '2-3', shared));
  const tick = (ranMs: number): void => {
    host.task(10, { container: 'a', lastCpu: 2, ranMs });
    host.task(11, { container: 'b', lastCpu: 3, ranMs });
    host.task(20, { lastCpu: 2, ranMs: ranMs / 5 });
    for (const letter of ['a', 'b']) host.cgroup(letter, { usedMs: ranMs });
  };
  tick(0);
  await meter.read(status);
  host.pass(1);
  tick(1_000);
  const { containers } = await meter.read(status);
  expect(containers).toMatchObject([
    { usedPercent: 50, foreign: { percent: 10, most: 't20' } },
    { usedPercent: 50, foreign: { percent: 10, most: 't20' } },
  ]);
});

test('one that came, or got other CPUs, has figures from the next reading on; one that went is left out', async () => {
  const host = new FakeHost();
  const meter = new TopMeter(host);
  for (const [i, container] of ['a', 'b', 'c'].entries()) {
    host.task(10 + i, { container });
    host.cgroup(container, { usedMs: 0 });
  }
  await meter.read(statusOf(owner('a', '2'), owner('b', '3')));
  const withFigures = async (...containers: readonly ContainerStatus[]): Promise<string[]> => {
    host.pass(1);
    const top = await meter.read(statusOf(...containers));
    return top.containers.map(
      (each) => `${each.pod}${each.usedPercent === undefined ? ' no use' : ''}${each.foreign ? '' : ' no others'}`,
    );
  };
  expect(await withFigures(owner('a', '2,4'), owner('c', '5'))).toEqual(['a no use no others', 'c no use no others']);
  expect(await withFigures(owner('a', '2,4'), owner('c', '5'))).toEqual(['a', 'c']);
});

test('without a process and a cgroup there are no figures but those of others', async () => {
  const host = new FakeHost();
  const meter = new TopMeter(host);
  const status = statusOf(owner('a', '2'));
  await meter.read(status);
  host.pass(1);
  const [first] = (await meter.read(status)).containers;
  expect(first).not.toHaveProperty('usedPercent');
  expect(first).toMatchObject({ foreign: { percent: 0, threads: 0, most: '' } });
});

test('a /proc that can not be read is an error', async () => {
  const host = new FakeHost();
  const meter = new TopMeter(host);
  rmSync(join(host.procRoot, 'uptime'));
  await expect(meter.read(statusOf())).rejects.toMatchObject({ code: 'ENOENT' });
});
