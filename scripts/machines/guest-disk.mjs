// The disk that machines boot from: a Debian root with containerd, runc, crun, node and systemd. It is kept in the
// cache and used by any number of machines at once: the writes of each go to a snapshot of its own.
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { formatContainerdConfig } from '../runtime/containerd-config.mjs';
import { packTinyImage } from '../runtime/tiny-image.mjs';
import { buildOnceAsync, cacheDir, nameByContent } from '../shared/cache.mjs';
import { readPackageVersions, unpackPackages } from '../shared/debian.mjs';
import { boot } from './boot.mjs';

/** The number of the form of the disk. Raise it when `prepareRoot` changes what it writes. */
const form = 2;
const packages = ['containerd', 'runc', 'crun', 'busybox-static', 'libstdc++6', 'systemd-sysv', 'dbus'];
const guestScripts = fileURLToPath(new URL('guest', import.meta.url));
const diskMib = 1536;

/** @import { Kernel } from './kernel.mjs' */

/**
 * Builds the disk of a suite.
 * @param {object} options
 * @param {string} options.suite the source of containerd and all else: `trixie` (1.7) or `sid` (2.x)
 * @param {Kernel[]} options.kernels see ensureKernel; the disk carries the modules of each
 * @param {string[]} options.qemu see ensureQemu
 * @param {import('../shared/log.mjs').Log} options.log
 * @returns {Promise<{ disk: string, versions: Record<string, string>, major: number }>} versions by package
 */
export async function ensureGuestDisk({ suite, kernels, qemu, log }) {
  const [first] = kernels;
  if (first === undefined) throw new Error('a disk needs a kernel');
  const releases = kernels.map(({ release }) => release).join('-');
  const scripts = ['run.sh', 'init.sh', 'import.sh', 'machine.service'].map((name) =>
    readFileSync(join(guestScripts, name), 'utf8'),
  );
  const containerd = [1, 2].map((major) => formatContainerdConfig({ major, nri: true }));
  const madeFrom = { packages, diskMib, releases, node: process.version, scripts, containerd, form };
  const path = nameByContent(join(cacheDir(), 'machines', `disk-${suite}`), madeFrom);
  const dir = await buildOnceAsync(path, async (building) => {
    log(`building the disk of Debian ${suite} machines`);
    const root = `${building}-root`;
    try {
      mkdirSync(building);
      unpackPackages(root, { suite, packages, variant: 'minbase' }, log);
      const versions = readPackageVersions(root, packages);
      prepareRoot(root, kernels, formatContainerdConfig({ major: majorOf(versions), nri: true }));
      writeFileSync(join(building, 'versions.json'), JSON.stringify(versions));
      makeFileSystem(root, join(building, 'root.img'));
      await importImage({ root, disk: join(building, 'root.img'), kernel: first, qemu });
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  });
  const versions = JSON.parse(readFileSync(join(dir, 'versions.json'), 'utf8'));
  return { disk: join(dir, 'root.img'), versions, major: majorOf(versions) };
}

/** @param {string} root @param {Kernel[]} kernels @param {string} containerdConfig */
function prepareRoot(root, kernels, containerdConfig) {
  const machine = join(root, 'machine');
  for (const dir of [machine, join(root, 'in'), join(root, 'usr/local/bin'), join(root, 'etc/containerd')])
    mkdirSync(dir, { recursive: true });
  for (const { release, modules } of kernels) cpSync(modules, join(machine, 'modules', release), { recursive: true });
  copyFileSync(join(guestScripts, 'run.sh'), join(machine, 'run.sh'));
  copyFileSync(join(guestScripts, 'init.sh'), join(root, 'init'));
  chmodSync(join(root, 'init'), 0o755);
  copyFileSync(process.execPath, join(root, 'usr/local/bin/node')); // Debian's own starts four times slower
  chmodSync(join(root, 'usr/local/bin/node'), 0o755);

  // RunPodSandbox copies both into the pod and fails without them.
  writeFileSync(join(root, 'etc/hosts'), '127.0.0.1 localhost\n');
  rmSync(join(root, 'etc/resolv.conf'), { force: true });
  writeFileSync(join(root, 'etc/resolv.conf'), '');
  writeFileSync(join(root, 'etc/containerd/config.toml'), containerdConfig);

  // systemd: known machine, so that nothing of a first boot happens; only needed units are started.
  writeFileSync(join(root, 'etc/machine-id'), '00000000000000000000000000000001\n');
  copyFileSync(join(guestScripts, 'machine.service'), join(root, 'etc/systemd/system/machine.service'));
  const masked = ['systemd-journal-flush', 'systemd-update-utmp', 'systemd-sysctl', 'systemd-tmpfiles-setup'];
  for (const name of masked) {
    const link = join(root, 'etc/systemd/system', `${name}.service`);
    if (!existsSync(link)) symlinkSync('/dev/null', link);
  }
}

/** @param {string} root @param {string} image */
function makeFileSystem(root, image) {
  const options = ['-O', '^has_journal,^metadata_csum', '-E', 'lazy_itable_init=1,nodiscard,root_owner=0:0', '-m', '0'];
  execFileSync('mke2fs', ['-q', '-t', 'ext4', ...options, '-d', root, image, `${diskMib}M`], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, PATH: `${process.env.PATH}:/sbin:/usr/sbin` },
  });
}

/**
 * Imports the image in a machine whose disk is written for once: the image has to be in containerd's own store.
 * @param {{ root: string, disk: string, kernel: Kernel, qemu: string[] }} options
 */
async function importImage({ root, disk, kernel, qemu }) {
  const { status, console } = await boot({
    qemu,
    kernel,
    disk: { path: disk, keep: true },
    machine: { sockets: 1, cores: 2, threads: 1, nodes: [{ memoryMib: 1024 }], cgroup: 'v2', kernelArguments: [] },
    handIn: {
      'run.sh': readFileSync(join(guestScripts, 'import.sh')),
      'image.tar': packTinyImage(join(root, 'usr/bin/busybox')),
    },
    limitMs: 300_000,
  });
  if (status !== 0)
    throw new Error(`the image could not be imported; the machine's console ends with:\n${console.slice(-3000)}`);
}

/** @param {Record<string, string>} versions */
const majorOf = ({ containerd = '' }) => Number.parseInt(containerd, 10);
