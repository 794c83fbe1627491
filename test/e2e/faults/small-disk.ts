import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** A small file system that can be filled up and made read-only. */
export class SmallDisk {
  constructor(readonly path: string) {
    mkdirSync(path, { recursive: true });
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=128k,mode=0700', 'cpusetd-test', path]);
  }

  /** Fills all free space. */
  fill(): void {
    const fd = openSync(join(this.path, 'filler'), 'w');
    try {
      for (const page = Buffer.alloc(4096); ;) writeSync(fd, page);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    } finally {
      closeSync(fd);
    }
  }

  makeSpace(): void {
    rmSync(join(this.path, 'filler'));
  }

  /** @throws while a process has a file open for writing */
  remount(mode: 'ro' | 'rw'): void {
    execFileSync('mount', ['-o', `remount,${mode}`, this.path]);
  }

  close(): void {
    execFileSync('umount', ['--lazy', this.path]);
  }
}
