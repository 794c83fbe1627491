import { existsSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { quotaFileOf } from '../../test/e2e/rig/cgroup-files';

/**
 * Gives the cgroup of all pods, and that of the burstable ones, which request all CPUs but one, the CPU shares that a
 * kubelet gives them.
 */
export function setShares(cgroupRoot: string, cpus: number): void {
  const write = (path: string, count: number): void => {
    const file = quotaFileOf(path);
    if (!existsSync(file)) return;
    const shares = count * 1024;
    if (basename(file) === 'cpu.max')
      writeFileSync(join(dirname(file), 'cpu.weight'), String(1 + Math.floor(((shares - 2) * 9999) / 262_142)));
    else writeFileSync(join(dirname(file), 'cpu.shares'), String(shares));
  };
  write(cgroupRoot, cpus);
  write(`${cgroupRoot}/kubepods/burstable`, cpus - 1);
}
