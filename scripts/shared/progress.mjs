// The progress of a command, seen from outside: CPU time of its processes, and bytes that they read and wrote.
import { readdirSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { readOrEmpty } from './files.mjs';
import { cpuSecondsStep, readProcessStat } from './process-stat.mjs';

/** @typedef {{ cpuSeconds: number, bytes: number }} Work what a group of processes has done by now */

/** Less than this is not work: a process that only waits wakes up now and then. */
const leastShareOfCpu = 1 / 300;
const leastBytes = 64 * 1024;

/**
 * The time without progress after which a command is ended. $CPUSETD_STILL_SECONDS is for machines that need another.
 */
export const stillLimitMs = (env = process.env) => Number(env.CPUSETD_STILL_SECONDS || 300) * 1000;

/** @param {number} limitMs without progress */
export const periodOfLooks = (limitMs) => Math.min(5_000, limitMs / 8);

/**
 * Measures the work that a process and all that it started have done by now; a process that ended counts with its
 * parent.
 * @param {number} leader the first process, with a group of its own or not
 * @returns {Work | undefined} undefined where there is no /proc
 */
export function measureWork(leader) {
  if (readProcessStat('self') === undefined) return undefined;
  const processes = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => readProcessStat(Number(name)) ?? []);
  const belongs = processes.filter((each) => [each.pid, each.parent, each.group, each.session].includes(leader));
  const group = new Set(belongs.map(({ pid }) => pid));
  for (let before = -1; before !== group.size;) {
    before = group.size;
    for (const { pid, parent } of processes) if (group.has(parent)) group.add(pid);
  }
  const work = { cpuSeconds: 0, bytes: 0 };
  for (const { pid, cpuSeconds, childCpuSeconds } of processes) {
    if (!group.has(pid)) continue;
    work.cpuSeconds += cpuSeconds + childCpuSeconds;
    for (const [, count] of readOrEmpty(`/proc/${pid}/io`).matchAll(/^[rw]char: (\d+)$/gm)) work.bytes += Number(count);
  }
  return work;
}

/**
 * Tells for how long a process and all that it started have made no progress. A machine that slept, or was too busy to
 * look, does not count as time without progress.
 * @param {number} leader
 * @param {{ limitMs: number, everyMs: number }} options everyMs: the period of looks
 */
export function watchProgress(leader, { limitMs, everyMs }) {
  const leastCpuSeconds = Math.max(cpuSecondsStep, (limitMs / 1000) * leastShareOfCpu);
  let mark = measureWork(leader);
  let stillMs = 0;
  let lookedAtMs = performance.now();
  return {
    /** The command has said something. */
    noteOutput() {
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
