import { readFileSync } from 'node:fs';

/** Peak resident memory of a process, in MiB. */
export function readPeakMiB(pid: number): number {
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;
}
