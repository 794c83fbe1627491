import { spawnSync } from 'node:child_process';

/**
 * Keeps the main thread of a process on these CPUs; its helpers, such as those of garbage collection, stay free. Throws
 * when that can't be done.
 */
export function pinMainThread(pid: number, cpus: string): void {
  const { status, stderr, error } = spawnSync('taskset', ['-pc', cpus, String(pid)], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`taskset could not pin process ${pid} to CPU ${cpus}: ${error?.message ?? stderr}`);
}
