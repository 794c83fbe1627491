// A Debian kernel in the form that boots fastest under emulation: the bare ELF (no decompression in the guest), the few
// modules that are not built in, in the order they are loaded, and an initrd when the disk needs some of them.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildOnce, cacheDir, nameByContent } from '../shared/cache.mjs';
import { unpackPackages } from '../shared/debian.mjs';
import { packCpio } from './cpio.mjs';

/**
 * The modules that are loaded from the disk. Dependencies come first; a module that a kernel has built in is left out.
 */
const modules = [
  ...['drivers/virtio/virtio_ring', 'drivers/virtio/virtio', 'drivers/virtio/virtio_pci_modern_dev'],
  ...['drivers/virtio/virtio_pci_legacy_dev', 'drivers/virtio/virtio_pci', 'drivers/char/virtio_console'],
  ...['drivers/block/virtio_blk', 'fs/overlayfs/overlay'],
];

/** The drivers of the disk, in the same order. */
const diskModules = [
  ...['drivers/nvme/common/nvme-auth', 'drivers/nvme/host/nvme-core', 'drivers/nvme/host/nvme'],
  ...['crypto/crc32c_generic', 'lib/crc16', 'fs/mbcache', 'fs/jbd2/jbd2', 'fs/ext4/ext4'],
];
const initScript = fileURLToPath(new URL('guest/initrd.sh', import.meta.url));

/** @typedef {'v2' | 'v1' | 'generic'} KernelName */
/**
 * The kernels that are used. Debian's cloud kernels have the drivers of the disk built in; bookworm's 6.1 is the last
 * with cpusets on cgroup v1. The generic one has emulated NUMA nodes.
 * @type {Record<KernelName, { suite: string, packages: string[], needsInitrd?: boolean }>}
 */
const sources = {
  v2: { suite: 'trixie', packages: ['linux-image-cloud-amd64'] },
  v1: { suite: 'bookworm', packages: ['linux-image-cloud-amd64'] },
  generic: { suite: 'trixie', packages: ['linux-image-amd64', 'busybox-static'], needsInitrd: true },
};

/** The number of the form in which a kernel is kept. Raise it when `keepNeededFiles` changes what it writes. */
const form = 2;

/**
 * @typedef {object} Kernel
 * @property {string} vmlinux
 * @property {string} release
 * @property {string} modules a folder with files in loading order
 * @property {string} [initrd] a file; it also puts the modules on the disk
 */

/**
 * The name of a machine's kernel.
 * @param {Pick<import('./machine.mjs').Machine, 'kernel' | 'cgroup'>} machine
 * @returns {KernelName}
 */
export const kernelOf = ({ kernel, cgroup }) => (kernel === 'generic' ? kernel : cgroup);

/**
 * Unpacks a kernel.
 * @param {KernelName} name
 * @param {import('../shared/log.mjs').Log} log
 * @returns {Kernel}
 */
export function ensureKernel(name, log) {
  const { suite, packages, needsInitrd = false } = sources[name];
  const init = needsInitrd ? readFileSync(initScript) : undefined;
  const madeFrom = { packages, modules, form, ...(init && { diskModules, init: init.toString() }) };
  const dir = buildOnce(nameByContent(join(cacheDir(), `machines/kernel-${suite}`), madeFrom), (building) => {
    log(`unpacking ${packages[0]} of Debian ${suite}`);
    const unpacked = `${building}-packages`;
    try {
      unpackPackages(unpacked, { suite, packages, variant: 'extract' }, log);
      keepNeededFiles(unpacked, building, init);
    } finally {
      rmSync(unpacked, { recursive: true, force: true });
    }
  });
  return {
    vmlinux: join(dir, 'vmlinux'),
    release: readFileSync(join(dir, 'release'), 'utf8'),
    modules: join(dir, 'modules'),
    ...(needsInitrd && { initrd: join(dir, 'initrd') }),
  };
}

/**
 * Keeps the ELF and the modules of a kernel.
 * @param {string} unpacked
 * @param {string} target
 * @param {Buffer | undefined} init the first process of its initrd, if it needs one
 */
function keepNeededFiles(unpacked, target, init) {
  const image = readdirSync(join(unpacked, 'boot')).find((name) => name.startsWith('vmlinuz-'));
  if (image === undefined) throw new Error('the package has no kernel image');
  const release = image.slice('vmlinuz-'.length);
  const folder = join(unpacked, 'lib/modules', release, 'kernel');
  const loadedFromDisk = readModules(folder, modules);
  mkdirSync(join(target, 'modules'), { recursive: true });
  writeFileSync(join(target, 'release'), release);
  writeFileSync(join(target, 'vmlinux'), extractElf(readFileSync(join(unpacked, 'boot', image))));
  for (const [name, content] of loadedFromDisk) writeFileSync(join(target, 'modules', name), content);
  if (init === undefined) return;
  const inInitrd = readModules(folder, diskModules).map(([name, content]) => [`disk-${name}`, content]);
  const busybox = readFileSync(join(unpacked, 'usr/bin/busybox'));
  const files = Object.fromEntries([
    ...inInitrd,
    ...loadedFromDisk.map(([name, content]) => [`later-${name}`, content]),
  ]);
  writeFileSync(join(target, 'initrd'), packCpio({ init, busybox, ...files }));
}

/**
 * Those modules that are not built in, with names in loading order.
 * @param {string} folder
 * @param {string[]} paths
 * @returns {[string, Buffer][]}
 */
function readModules(folder, paths) {
  return paths.flatMap((path, index) => {
    const file = join(folder, `${path}.ko`);
    const content = existsSync(`${file}.xz`)
      ? execFileSync('xz', ['-dc', `${file}.xz`], { maxBuffer: 1 << 28 })
      : existsSync(file) && readFileSync(file);
    return content ? [[`${index}-${basename(path)}.ko`, content]] : [];
  });
}

/**
 * The compressed kernel inside a bzImage; see "The Linux/x86 Boot Protocol", fields setup_sects and
 * payload_offset/_length.
 * @param {Buffer} image
 */
function extractElf(image) {
  const start = (image.readUInt8(0x1f1) + 1) * 512 + image.readUInt32LE(0x248);
  const payload = image.subarray(start, start + image.readUInt32LE(0x24c) - 4); // its last word is the size unpacked
  const command = payload.readUInt32LE(0) === 0xfd2fb528 ? 'zstd' : 'lz4';
  const elf = execFileSync(command, ['-dc'], { input: payload, maxBuffer: 1 << 29 });
  if (elf.readUInt32BE(0) !== 0x7f454c46) throw new Error('the kernel image holds no ELF');
  return elf;
}
