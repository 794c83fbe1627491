import { join } from 'node:path';
import { CpuSet } from '../../core/cpuset';
import { parseList, readOptional, readText, SysfsError } from './read-file';

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

/** CPUs that the machine has and the kernel does not use now; empty where it does not tell. Throws SysfsError. */
export function readOffline(sysfsRoot: string, online: CpuSet): CpuSet {
  const path = join(sysfsRoot, 'devices/system/cpu/present');
  const text = readOptional(path);
  return text === undefined ? CpuSet.empty : parseList(path, text).minus(online);
}
