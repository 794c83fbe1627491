import { lstatSync, lutimesSync } from 'node:fs';
import { uptime } from 'node:os';

/**
 * Returns the time at which a cpusetd was last at work on this node, in ms since 1970: the time of its lock file, which
 * every round renews. It is never before the boot of the machine; undefined without a lock file.
 */
export function readHeartbeat(path: string, nowMs: number): number | undefined {
  const seenMs = timeOf(path);
  if (seenMs === undefined) return undefined;
  const bootedMs = nowMs - uptime() * 1000;
  return Math.min(nowMs, Math.max(seenMs, bootedMs));
}

/** Renews the time of the lock file. Costs microseconds, and only the length of a gap depends on it. Never throws. */
export function writeHeartbeat(path: string, nowMs: number): void {
  try {
    lutimesSync(path, nowMs / 1000, nowMs / 1000);
  } catch {
    // The next save reports a file system that is full or read-only.
  }
}

/** Undefined when the file cannot be read. Taking the lock reports that error. */
function timeOf(path: string): number | undefined {
  try {
    const stats = lstatSync(path);
    return stats.isFile() ? stats.mtimeMs : undefined;
  } catch {
    return undefined;
  }
}
