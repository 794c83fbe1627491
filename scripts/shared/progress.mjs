// The progress of a command, seen from outside: CPU time of its processes, and bytes that they read and wrote.
import { existsSync, readdirSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { readOrEmpty } from './files.mjs';

/** @typedef {{ cpuSeconds: number, bytes: number }} Work what a group of processes has done by now */

/** The kernel counts the time of processes in these. */
const ticksPerSecond = 100;
/** Less than this is not work: a process that only waits wakes up now and then. */
const leastShareOfCpu = 1 / 300;
const leastBytes = 64 * 1024;

/** The time without progress after which a command is ended. $CPUSETD_STILL_SECONDS is for machines that need another. */
export const stillLimitMs = (env = process.env) => Number(env.CPUSETD_STILL_SECONDS || 300) * 1000;

/** @param {number} limitMs without progress */
export const periodOfLooks = (limitMs) => Math.min(5_000, limitMs / 8);

/**
 * Measures the work that a process and all that it started have done by now; a process that ended counts with its parent.
 * @param {number} leader the first process, with a group of its own or not
 * @returns {Work | undefined} undefined where there is no /proc
 */
export function measureWork(leader) {
  if (!existsSync('/proc/self/stat')) return undefined;
  const processes = readProcesses();
  const group = new Set(processes.filter(({ ids }) => ids.includes(leader)).map(({ pid }) => pid));
  for (let before = -1; before !== group.size;) {
    before = group.size;
    for (const { pid, ids } of processes) if (group.has(ids[1] ?? 0)) group.add(pid);
  }
  const work = { cpuSeconds: 0, bytes: 0 };
  for (const { pid, ticks } of processes) {
    if (!group.has(pid)) continue;
    work.cpuSeconds += ticks / ticksPerSecond;
    for (const [, count] of readOrEmpty(`/proc/${pid}/io`).matchAll(/^[rw]char: (\d+)$/gm)) work.bytes += Number(count);
  }
  return work;
}

/** All processes: `ids` are those of itself, its parent, its group and its session. */
function readProcesses() {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.flatMap((name) => {
    const stat = readOrEmpty(`/proc/${name}/stat`);
    if (stat === '') return [];
    // The name of the program is in parentheses and may have any character.
    const fields = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    const pid = Number(name);
    const ticks = fields.slice(11, 15).reduce((sum, each) => sum + each, 0); // its own, and of children that ended
    return [{ pid, ids: [pid, ...fields.slice(1, 4)], ticks }];
  });
}

/**
 * Tells for how long a process and all that it started have made no progress. A machine that slept, or was too busy to look, does not
 * count as time without progress.
 * @param {number} leader
 * @param {{ limitMs: number, everyMs: number }} options everyMs: the period of looks
 */
export function watchProgress(leader, { limitMs, everyMs }) {
  const leastCpuSeconds = Math.max(1 / ticksPerSecond, (limitMs / 1000) * leastShareOfCpu);
  let mark = measureWork(leader);
  let stillMs = 0;
  let lookedAtMs = performance.now();
  return {
    /** The command has said something. */
    hear() {
      stillMs = 0;
    },
    /** @returns {number} the time without progress by now; 0 where it cannot be told */
    look() {
      const nowMs = performance.now();
      const passedMs = Math.min(nowMs - lookedAtMs, 2 * everyMs);
      lookedAtMs = nowMs;
      const work = measureWork(leader);
      if (work === undefined || mark === undefined) return 0;
      const hasWorked =
        Math.abs(work.cpuSeconds - mark.cpuSeconds) >= leastCpuSeconds ||
        Math.abs(work.bytes - mark.bytes) >= leastBytes; // less than before: a process has ended, and nobody waited for it
      if (hasWorked) mark = work;
      stillMs = hasWorked ? 0 : stillMs + passedMs;
      return stillMs;
    },
  };
}
