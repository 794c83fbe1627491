import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseCpuList } from '../../src/core/cpuset';
import { sum } from '../../src/core/sum';
import { readCpuTimes } from '../../src/host';
import { TICK_MS } from '../../src/host/cpu-times';
import { readInterrupts } from '../../src/host/interrupts';
import type { RunningContainer } from '../../test/e2e/rig';
import { quotaFileOf } from '../../test/e2e/rig/cgroup-files';

export interface HostFacts {
  readonly atMs: number;
  readonly stealMs: number;
  /** CPU time of everything but the containers. */
  readonly outsideMs: number;
  /** Of devices, by number and device. */
  readonly interrupts: ReadonlyMap<string, number>;
}

/**
 * Counters of the machine.
 *
 * @param cgroupRoot the cgroup of all containers
 * @param container interrupts are those on its CPUs
 */
export function readHost(cgroupRoot: string, container: RunningContainer): HostFacts {
  const own = parseCpuList(container.cpuset().effectiveCpus);
  const times = [...readCpuTimes().values()];
  const stealMs = sum(times.map((each) => each.stealMs));
  const busyMs = sum(times.map(({ busy }) => busy * TICK_MS)) - stealMs;
  const devices = readInterrupts().filter(({ name }) => /^\d+$/.test(name));
  const interrupts = devices.map(({ name, source, counts }): [string, number] => [
    `${name} (${source.split(/\s+/).at(-1)!})`,
    sum([...own].map((cpu) => counts.get(cpu) ?? 0)),
  ]);
  const outsideMs = busyMs - readUsageMs(cgroupRoot);
  return { atMs: performance.now(), stealMs, outsideMs, interrupts: new Map(interrupts) };
}

/** CPU time of a cgroup and all below it. */
function readUsageMs(cgroupPath: string): number {
  const v1 = join('/sys/fs/cgroup/cpuacct', cgroupPath, 'cpuacct.usage');
  if (existsSync(v1)) return Number(readFileSync(v1, 'utf8')) / 1e6;
  return readStat(cgroupPath, 'usage_usec') / 1000;
}

/** A number of the file cpu.stat of a cgroup; 0 when it is not there. */
function readStat(cgroupPath: string, key: string): number {
  const text = readFileSync(join(dirname(quotaFileOf(cgroupPath)), 'cpu.stat'), 'utf8');
  return Number(new RegExp(`^${key} (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
}

/** The part of periods with throttling in the cgroup, or in that of its pod where it is more; 0 without a quota. */
export function readThrottled(cgroupPath: string): number {
  const read = (path: string): number => readStat(path, 'nr_throttled') / Math.max(1, readStat(path, 'nr_periods'));
  return Math.max(read(cgroupPath), read(dirname(cgroupPath)));
}
