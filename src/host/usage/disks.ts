import { readdirSync } from 'node:fs';
import { readBounded } from '../../files/read-bounded';
import type { DiskCounters } from '../../qos/usage/sample';

/** Enough for thousands of disks and partitions. */
const MAX_BYTES = 1024 * 1024;
/** The unit of /proc/diskstats, whatever the disk's own sectors are. */
const SECTOR_BYTES = 512;

/**
 * The counters of whole disks, those that `sysfsRoot/block` lists, by their names there. Loop devices and RAM disks
 * that never did any I/O are left out: a kernel makes some in advance. None where the files can't be read. The format:
 * Documentation/admin-guide/iostats.rst of Linux.
 */
export function readDisks(procRoot: string, sysfsRoot: string): ReadonlyMap<string, DiskCounters> {
  const disks = new Map<string, DiskCounters>();
  const whole = listWholeDisks(sysfsRoot);
  const read = readBounded(`${procRoot}/diskstats`, MAX_BYTES);
  for (const line of read.ok ? read.text.split('\n') : []) {
    const [, , device = '', ...fields] = line.trim().split(/\s+/);
    // A name with a slash, as of old RAID controllers, has an exclamation mark in sysfs.
    const name = device.replaceAll('/', '!');
    if (!whole.has(name) || !fields.every((field) => /^\d+$/.test(field))) continue;
    const [reads, , readSectors, , writes, , writtenSectors, , , busyMs] = fields.map(Number);
    if (busyMs === undefined) continue;
    if (/^(loop|ram)\d+$/.test(name) && reads === 0 && writes === 0) continue;
    disks.set(name, {
      reads: reads!,
      writes: writes!,
      readBytes: readSectors! * SECTOR_BYTES,
      writtenBytes: writtenSectors! * SECTOR_BYTES,
      busyMs,
    });
  }
  return disks;
}

function listWholeDisks(sysfsRoot: string): ReadonlySet<string> {
  try {
    return new Set(readdirSync(`${sysfsRoot}/block`));
  } catch {
    return new Set();
  }
}
