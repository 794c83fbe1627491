import { readBounded } from '../../files/read-bounded';
import type { CpuTicks, MemoryState } from '../../qos/usage/sample';
import { readTicks } from '../proc/cpu-times';
import { sum } from '../../core/sum';

/** Far longer than these files are. */
const MAX_BYTES = 64 * 1024;
/** The place of the idle time in a line of /proc/stat; see proc_stat(5). */
const IDLE = 3;

/** The ticks of all CPUs that are online. Throws the system's error when /proc/stat can't be read. */
export function readCpuTicks(procRoot: string): ReadonlyMap<number, CpuTicks> {
  const cpus = new Map<number, CpuTicks>();
  for (const [id, ticks] of readTicks(procRoot)) {
    const idle = ticks[IDLE] ?? 0;
    cpus.set(id, { busy: sum(ticks) - idle, idle });
  }
  return cpus;
}

/** The load averages over 1, 5 and 15 minutes; undefined where they can't be read. */
export function readLoad(procRoot: string): readonly [number, number, number] | undefined {
  const read = readBounded(`${procRoot}/loadavg`, MAX_BYTES);
  const match = /^(\d+\.\d+) (\d+\.\d+) (\d+\.\d+) /.exec(read.ok ? read.text : '');
  return match ? [Number(match[1]), Number(match[2]), Number(match[3])] : undefined;
}

/** Undefined where it can't be read. */
export function readMemory(procRoot: string): MemoryState | undefined {
  const read = readBounded(`${procRoot}/meminfo`, MAX_BYTES);
  const bytesOf = (name: string): number | undefined => {
    const kib = new RegExp(`^${name}:\\s+(\\d{1,15}) kB$`, 'm').exec(read.ok ? read.text : '')?.[1];
    return kib === undefined ? undefined : Number(kib) * 1024;
  };
  const [totalBytes, availableBytes] = [bytesOf('MemTotal'), bytesOf('MemAvailable')];
  return totalBytes === undefined || availableBytes === undefined ? undefined : { totalBytes, availableBytes };
}
