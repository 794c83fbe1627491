import { readFileSync } from 'node:fs';
import { sum } from '../../core/sum';

/** Ticks of one CPU since the boot, as /proc/stat counts them. */
export interface CpuTimes {
  readonly busy: number;
  readonly total: number;
  /** Time that the hypervisor gave to others, in ms. */
  readonly stealMs: number;
}

/** Length of a tick in ms: USER_HZ is 100 on every architecture that Node runs on. */
export const TICK_MS = 10;

/**
 * The times of all CPUs that are online, by their ids. Busy is all but idle and waiting for I/O; the times of guests
 * are in those of their hosts. The format: proc_stat(5). Throws the system's error when the file can't be read.
 */
export function readCpuTimes(procRoot = '/proc'): ReadonlyMap<number, CpuTimes> {
  const times = new Map<number, CpuTimes>();
  for (const [id, ticks] of readTicks(procRoot)) {
    const total = sum(ticks);
    const busy = total - (ticks[3] ?? 0) - (ticks[4] ?? 0);
    times.set(id, { busy, total, stealMs: (ticks[7] ?? 0) * TICK_MS });
  }
  return times;
}

/**
 * The ticks of all CPUs that are online, by their ids: user, nice, system, idle, iowait, irq, softirq and steal, in
 * this order. Throws the system's error when the file can't be read.
 */
export function readTicks(procRoot = '/proc'): ReadonlyMap<number, readonly number[]> {
  const text = readFileSync(`${procRoot}/stat`, 'utf8');
  const ticks = new Map<number, readonly number[]>();
  for (const [, id, fields] of text.matchAll(/^cpu(\d+) ([\d ]+)$/gm))
    ticks.set(Number(id), fields!.trim().split(' ').slice(0, 8).map(Number));
  return ticks;
}

/** The part of the time between two readings that each CPU was busy, 0 to 1. A CPU that is not in both is left out. */
export function busyBetween(
  before: ReadonlyMap<number, CpuTimes>,
  after: ReadonlyMap<number, CpuTimes>,
): ReadonlyMap<number, number> {
  const parts = new Map<number, number>();
  for (const [id, now] of after) {
    const then = before.get(id);
    const total = then ? now.total - then.total : 0;
    // The kernel may count idle time back.
    if (then && total > 0) parts.set(id, Math.min(1, Math.max(0, (now.busy - then.busy) / total)));
  }
  return parts;
}
