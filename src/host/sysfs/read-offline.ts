import { join } from 'node:path';
import { CpuSet } from '../../core/cpuset';
import { parseList, readOptional } from './read-file';

/** CPUs that the machine has and the kernel does not use now; empty where it does not tell. Throws SysfsError. */
export function readOffline(sysfsRoot: string, online: CpuSet): CpuSet {
  const path = join(sysfsRoot, 'devices/system/cpu/present');
  const text = readOptional(path);
  return text === undefined ? CpuSet.empty : parseList(path, text).minus(online);
}
