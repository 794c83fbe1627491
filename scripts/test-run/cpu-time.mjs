// The CPU time that child processes have used.
import { readFileSync } from 'node:fs';

/** The unit of times in /proc on Linux: sysconf(_SC_CLK_TCK) of all its architectures. */
const ticksPerSecond = 100;

/**
 * Reads the CPU time of all child processes that have ended, and of those that these waited for: cutime and cstime of proc(5).
 * @returns {number} seconds; 0 on a system without /proc
 */
export function readChildCpuSeconds() {
  try {
    const [, afterName = ''] = readFileSync('/proc/self/stat', 'utf8').split(') ');
    const fields = afterName.split(' ').map(Number); // the first is field 3, the state
    return ((fields[13] ?? 0) + (fields[14] ?? 0)) / ticksPerSecond;
  } catch {
    return 0;
  }
}
