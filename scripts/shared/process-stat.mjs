// Reads what the kernel says of one process; see proc_pid_stat(5).
import { readOrEmpty } from './files.mjs';

/** The unit of times in /proc on Linux: sysconf(_SC_CLK_TCK) of all its architectures. */
const ticksPerSecond = 100;

/** CPU time is known in steps of so many seconds. */
export const cpuSecondsStep = 1 / ticksPerSecond;

/**
 * @typedef {object} ProcessStat
 * @property {number} pid
 * @property {number} parent
 * @property {number} group
 * @property {number} session
 * @property {number} cpuSeconds its own user and system time
 * @property {number} childCpuSeconds of all child processes that have ended and that it waited for, and of those that
 * these waited for
 * @property {string} startTicks since boot: with the pid it names one process for certain
 */

/**
 * Reads what the kernel says of a process.
 * @param {number | 'self'} pid
 * @returns {ProcessStat | undefined} undefined when there is no such process, or no /proc
 */
export function readProcessStat(pid) {
  const text = readOrEmpty(`/proc/${pid}/stat`);
  if (text === '') return undefined;
  // The name of the program is in parentheses and may have any character. The first field after it is the third of all.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  /** @param {number} at as numbered in the manual page */
  const field = (at) => fields[at - 3] ?? '';
  /** @param {number} first */
  const secondsOf = (first) => (Number(field(first)) + Number(field(first + 1))) / ticksPerSecond;
  return {
    pid: Number.parseInt(text),
    parent: Number(field(4)),
    group: Number(field(5)),
    session: Number(field(6)),
    cpuSeconds: secondsOf(14),
    childCpuSeconds: secondsOf(16),
    startTicks: field(22),
  };
}
