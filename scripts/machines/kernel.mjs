// A Debian kernel in the form that boots fastest under emulation: the bare ELF (no decompression in the guest), and the few
// modules that are not built in, in the order they are loaded.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { buildOnce, cacheDir, nameByContent } from '../shared/cache.mjs';
import { unpackPackages } from '../shared/debian.mjs';

/**
 * The suites whose kernels are used: bookworm's 6.1 is the last of Debian with cpusets on cgroup v1.
 * Dependencies come first; a module that a kernel has built in is left out.
 */
const modules = [
  ...['drivers/virtio/virtio_ring', 'drivers/virtio/virtio', 'drivers/virtio/virtio_pci_modern_dev'],
  ...['drivers/virtio/virtio_pci_legacy_dev', 'drivers/virtio/virtio_pci', 'drivers/char/virtio_console'],
  ...['drivers/block/virtio_blk', 'fs/overlayfs/overlay'],
];

const packages = ['linux-image-cloud-amd64'];
/** The number of the form in which a kernel is kept. Raise it when `keepNeededFiles` changes what it writes. */
const form = 2;

/** @typedef {{ vmlinux: string, release: string, modules: string }} Kernel modules: a folder with files in loading order */

/**
 * Unpacks a kernel.
 * @param {string} suite
 * @param {import('../shared/log.mjs').Log} log
 * @returns {Kernel}
 */
export function ensureKernel(suite, log) {
  const path = nameByContent(join(cacheDir(), `machines/kernel-${suite}`), { packages, modules, form });
  const dir = buildOnce(path, (building) => {
    log(`unpacking the kernel of Debian ${suite}`);
    const unpacked = `${building}-packages`;
    try {
      unpackPackages(unpacked, { suite, packages, variant: 'extract' }, log);
      keepNeededFiles(unpacked, building);
    } finally {
      rmSync(unpacked, { recursive: true, force: true });
    }
  });
  return {
    vmlinux: join(dir, 'vmlinux'),
    release: readFileSync(join(dir, 'release'), 'utf8'),
    modules: join(dir, 'modules'),
  };
}

/**
 * Keeps the ELF and the modules of a kernel.
 * @param {string} unpacked
 * @param {string} target
 */
function keepNeededFiles(unpacked, target) {
  const image = readdirSync(join(unpacked, 'boot')).find((name) => name.startsWith('vmlinuz-'));
  if (image === undefined) throw new Error('the package has no kernel image');
  const release = image.slice('vmlinuz-'.length);
  mkdirSync(join(target, 'modules'), { recursive: true });
  writeFileSync(join(target, 'release'), release);
  writeFileSync(join(target, 'vmlinux'), extractElf(readFileSync(join(unpacked, 'boot', image))));
  modules.forEach((module, index) => {
    const file = join(unpacked, 'lib/modules', release, 'kernel', `${module}.ko`);
    const content = existsSync(`${file}.xz`)
      ? execFileSync('xz', ['-dc', `${file}.xz`], { maxBuffer: 1 << 28 })
      : existsSync(file) && readFileSync(file);
    if (content) writeFileSync(join(target, 'modules', `${index}-${basename(module)}.ko`), content);
  });
}

/**
 * The compressed kernel inside a bzImage; see "The Linux/x86 Boot Protocol", fields setup_sects and payload_offset/_length.
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
