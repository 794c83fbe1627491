// QEMU 10 of Debian trixie, unpacked into the cache: the one of bookworm (7.2) crashes guests, and the host may have none.
import { join } from 'node:path';
import { buildOnce } from './cache.mjs';
import { unpackPackages } from './debian.mjs';

/**
 * Unpacks QEMU.
 * @param {import('../shared/log.mjs').Log} log
 * @returns {Promise<string[]>} the command and its first arguments: it runs with libraries and firmware of its own
 */
export async function ensureQemu(log) {
  const root = await buildOnce('qemu-1', (target) => {
    log('unpacking QEMU');
    unpackPackages({ suite: 'trixie', packages: ['qemu-system-x86'], target, variant: 'extract' });
  });
  return [
    join(root, 'lib64/ld-linux-x86-64.so.2'),
    ...['--library-path', join(root, 'usr/lib/x86_64-linux-gnu')],
    join(root, 'usr/bin/qemu-system-x86_64'),
    ...['-L', join(root, 'usr/share/qemu'), '-L', join(root, 'usr/share/seabios')],
  ];
}
