import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type CpuSet, parseCpuList } from '../../src/core/cpuset';
import { sum } from '../../src/core/sum';
import { readCpuTimes } from '../../src/host';
import { TICK_MS } from '../../src/host/proc/cpu-times';
import { readInterrupts } from '../../src/host/proc/interrupts';
import type { RunningContainer } from '../../test/e2e/rig';
import { quotaFileOf } from '../../test/e2e/rig/cgroup-files';

export interface HostFacts {
  readonly atMs: number;
  readonly stealMs: number;
  /** CPU time of everything but the containers, on the CPUs of the container. */
  readonly outsideMs: number;
  /** Of devices, by number and device. */
  readonly interrupts: ReadonlyMap<string, number>;
}

/**
 * Counters of the machine.
 *
 * @param cgroupRoot the cgroup of all containers
 * @param container facts are about its CPUs
 * @param isAlone no other container may be on its CPUs
 */
export function readHost(cgroupRoot: string, container: RunningContainer, isAlone: boolean): HostFacts {
  const own = parseCpuList(container.cpuset().effectiveCpus);
  const devices = readInterrupts().filter(({ name }) => /^\d+$/.test(name));
  const interrupts = devices.map(({ name, source, counts }): [string, number] => [
    `${name} (${source.split(/\s+/).at(-1)!})`,
    sum([...own].map((cpu) => counts.get(cpu) ?? 0)),
  ]);
  return {
    atMs: performance.now(),
    stealMs: sum([...readCpuTimes().values()].map((each) => each.stealMs)),
    outsideMs: readBusyMs(own) - readUsageMs(isAlone ? container.cgroupPath : cgroupRoot),
    interrupts: new Map(interrupts),
  };
}

/**
 * Time in which CPUs ran threads. Exact with cgroup v1. Version 2 has no such counter of a CPU: there it is the ticks
 * of /proc/stat, which miss much of a service that sleeps and wakes with them.
 */
function readBusyMs(cpus: CpuSet): number {
  const v1 = '/sys/fs/cgroup/cpuacct/cpuacct.usage_percpu';
  if (existsSync(v1)) {
    const usage = readFileSync(v1, 'utf8').trim().split(' ').map(Number);
    return sum([...cpus].map((cpu) => usage[cpu]!)) / 1e6;
  }
  const times = readCpuTimes();
  return sum([...cpus].map((cpu) => times.get(cpu)!).map(({ busy, stealMs }) => busy * TICK_MS - stealMs));
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
