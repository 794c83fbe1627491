// The host that emulates machines: its kind, and its commands.
import { findMissingForPackages } from '../shared/debian.mjs';
import { findMissingCommands, installCommands } from '../shared/host-commands.mjs';

/** Commands of the host that are needed, and the Debian or Ubuntu package that brings each. */
const commands = { mke2fs: 'e2fsprogs', setpriv: 'util-linux', zstd: 'zstd', lz4: 'lz4', xz: 'xz-utils' };

/**
 * The reason why no machine can be had here. Quick and silent.
 * @returns {string | undefined} one line for the operator
 */
export function findMissingPrerequisite() {
  if (process.platform !== 'linux' || process.arch !== 'x64') return 'machines are emulated on x86-64 Linux only';
  return findMissingForPackages() ?? findMissingCommands(commands);
}

/**
 * Installs the host's missing commands with apt.
 * @param {import('../shared/log.mjs').Log} log
 * @returns {void}
 */
export function installHostCommands(log) {
  installCommands(commands, log);
}
