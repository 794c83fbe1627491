import { lstatSync, lutimesSync } from 'node:fs';
import { uptime } from 'node:os';

/**
 * When a cpusetd was last at work on this node, in ms since 1970: the time of its lock file, which it renews with every
 * round. Not before the machine was booted, when nothing ran; undefined when there never was one.
 */
export function readHeartbeat(path: string, nowMs: number): number | undefined {
  const seenMs = timeOf(path);
  if (seenMs === undefined) return undefined;
  const bootedMs = nowMs - uptime() * 1000;
  return Math.min(nowMs, Math.max(seenMs, bootedMs));
}

/** Says that we are at work now. Costs microseconds, and nothing depends on it but the length of a gap. */
export function writeHeartbeat(path: string, nowMs: number): void {
  try {
    lutimesSync(path, nowMs / 1000, nowMs / 1000);
  } catch {
    // A file system that is full or read-only is told elsewhere.
  }
}

/** A path that cannot be looked at is told by whoever opens it. */
function timeOf(path: string): number | undefined {
  try {
    const stats = lstatSync(path);
    return stats.isFile() ? stats.mtimeMs : undefined;
  } catch {
    return undefined;
  }
}
