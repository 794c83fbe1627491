import { join } from 'node:path';
import { CpuSet } from '../../core/cpuset';
import { parseList, readOptional, readText, SysfsError } from './read-file';

/**
 * The online CPUs. The file is small enough to be read every second, which is how hotplug is noticed (sysfs reports no
 * changes through inotify). Throws SysfsError.
 */
export function readOnline(sysfsRoot: string): CpuSet {
  const path = join(sysfsRoot, 'devices/system/cpu/online');
  const online = parseList(path, readText(path));
  if (online.isEmpty) throw new SysfsError(path, { found: 'the list is empty', rule: 'at least one CPU is online' });
  return online;
}

/** CPUs of the machine that are not online; empty when the kernel does not list them. Throws SysfsError. */
export function readOffline(sysfsRoot: string, online: CpuSet): CpuSet {
  const path = join(sysfsRoot, 'devices/system/cpu/present');
  const text = readOptional(path);
  return text === undefined ? CpuSet.empty : parseList(path, text).minus(online);
}
