import { closeSync, fsyncSync, openSync, renameSync, writeSync } from 'node:fs';

/** The least that makes a file of these bytes durable: write, sync, rename, sync of the directory. */
export function writeRaw(dir: string, bytes: Uint8Array): void {
  const fd = openSync(`${dir}/raw.tmp`, 'w', 0o600);
  writeSync(fd, bytes);
  fsyncSync(fd);
  closeSync(fd);
  renameSync(`${dir}/raw.tmp`, `${dir}/raw`);
  const dirFd = openSync(dir, 'r');
  fsyncSync(dirFd);
  closeSync(dirFd);
}
