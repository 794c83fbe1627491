import { closeSync, openSync, readSync } from 'node:fs';

/** Time by the clock, and time on a CPU. */
export interface Cost {
  readonly wallMs: number;
  readonly cpuMs: number;
}

/** Measures work of this process. */
export async function costOf(work: () => void | Promise<void>): Promise<Cost> {
  const cpu = process.cpuUsage();
  const start = performance.now();
  await work();
  const wallMs = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  return { wallMs, cpuMs: (user + system) / 1000 };
}

/** Reads a small file with the least that it takes: the baseline of everything that reads files of the kernel. */
export function readBare(path: string, buffer: Buffer): void {
  const fd = openSync(path, 'r');
  readSync(fd, buffer, 0, buffer.length, 0);
  closeSync(fd);
}
