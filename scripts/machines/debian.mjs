// Packages of a Debian suite, unpacked into a folder; the host's own packages are not touched.
import { spawnSync } from 'node:child_process';
import { existsSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import {
  debianKeyring,
  describeMmdebstrapFailure,
  findDebianMirror,
  hasCommand,
  installPackages,
} from '../shared/debian.mjs';

/** Commands of the host that are needed, and the Debian or Ubuntu package that brings each. */
const hostCommands = {
  mmdebstrap: 'mmdebstrap',
  mke2fs: 'e2fsprogs',
  setpriv: 'util-linux',
  zstd: 'zstd',
  lz4: 'lz4',
  xz: 'xz-utils',
};

/**
 * The reason why no machine can be had here. Quick and silent.
 * @returns {string | undefined}
 */
export function findMissingPrerequisite() {
  if (process.platform !== 'linux' || process.arch !== 'x64') return 'machines are emulated on x86-64 Linux only';
  if (process.getuid?.() !== 0) return 'building a machine needs root: run this as root (sudo)';
  if (missingCommands().length > 0 && isMissing('apt-get'))
    return `${missingCommands().join(', ')} not found, and no apt-get to install it`;
  return undefined;
}

/**
 * Installs the host's missing commands with apt.
 * @param {import('../shared/log.mjs').Log} log
 * @returns {void}
 */
export function installHostPackages(log) {
  const packages = Object.entries(hostCommands).flatMap(([command, name]) => (isMissing(command) ? [name] : []));
  if (!existsSync(debianKeyring)) packages.push('debian-archive-keyring'); // Ubuntu does not trust Debian by itself
  if (packages.length === 0) return;
  installPackages(packages, log);
}

/**
 * Fills a new folder with packages and their dependencies.
 * @param {object} options
 * @param {string} options.suite
 * @param {string[]} options.packages
 * @param {string} options.target the folder
 * @param {'extract' | 'minbase'} options.variant `extract` only unpacks; `minbase` makes a configured system
 * @returns {void}
 * @throws {Error} with apt's complaint
 */
export function unpackPackages({ suite, packages, target, variant }) {
  const mirror = findDebianMirror();
  const args = [
    '--mode=root',
    `--variant=${variant}`,
    `--include=${packages.join(',')}`,
    '--aptopt=APT::Install-Recommends "false"',
    // A snapshot of a moving suite may be past its date; its signature is checked all the same.
    '--aptopt=Acquire::Check-Valid-Until "false"',
    ...['doc', 'man', 'locale'].map((name) => `--dpkgopt=path-exclude=/usr/share/${name}/*`),
    ...(existsSync(debianKeyring) ? [`--keyring=${debianKeyring}`] : []),
    ...[suite, target, ...(mirror === undefined ? [] : [mirror])],
  ];
  const done = spawnSync('mmdebstrap', args, {
    encoding: 'utf8',
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: 900_000,
  });
  if (done.status !== 0) throw new Error(`Debian ${suite} packages can't be had: ${describeMmdebstrapFailure(done)}`);
  for (const name of ['bin', 'sbin', 'lib', 'lib64'])
    if (!existsSync(join(target, name)) && existsSync(join(target, 'usr', name)))
      symlinkSync(`usr/${name}`, join(target, name));
}

/** @param {string} command */
const isMissing = (command) => !hasCommand(command, ['/sbin', '/usr/sbin']);
const missingCommands = () => Object.keys(hostCommands).filter(isMissing);
