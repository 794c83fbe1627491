import { join } from 'node:path';
import type { CpuSet } from '../../core/cpuset';
import { parseList, readText } from './read-file';
import { SysfsError } from './sysfs-error';

/**
 * The CPUs that the kernel can run on now. One small file: cheap enough to be asked every second, which is how
 * hotplug is noticed (sysfs reports no changes through inotify). Throws SysfsError.
 */
export function readOnline(sysfsRoot: string): CpuSet {
  const path = join(sysfsRoot, 'devices/system/cpu/online');
  const online = parseList(path, readText(path));
  if (online.isEmpty) throw new SysfsError(path, { found: 'the list is empty', rule: 'at least one CPU is online' });
  return online;
}
