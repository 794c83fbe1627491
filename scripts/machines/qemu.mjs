// QEMU 10 of Debian trixie, unpacked into the cache: the one of bookworm (7.2) crashes guests, and the host may have
// none.
import { join } from 'node:path';
import { cacheDir } from '../shared/cache.mjs';
import { ensurePackages } from '../shared/debian.mjs';

/**
 * Unpacks QEMU.
 * @param {import('../shared/log.mjs').Log} log
 * @returns {string[]} the command and its first arguments: it runs with libraries and firmware of its own
 */
export function ensureQemu(log) {
  const path = join(cacheDir(), 'machines/qemu-1');
  const root = ensurePackages(path, { suite: 'trixie', packages: ['qemu-system-x86'], variant: 'extract' }, log);
  return [
    join(root, 'lib64/ld-linux-x86-64.so.2'),
    ...['--library-path', join(root, 'usr/lib/x86_64-linux-gnu')],
    join(root, 'usr/bin/qemu-system-x86_64'),
    ...['-L', join(root, 'usr/share/qemu'), '-L', join(root, 'usr/share/seabios')],
  ];
}
