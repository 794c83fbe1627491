// Commands of the host, and the Debian or Ubuntu packages that bring them.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { cacheDir } from './cache.mjs';
import { holdLock } from './hold-lock.mjs';
import { runWithProgressSync } from './run-with-progress.mjs';

/** @import { Log } from './log.mjs' */

/** Commands that are needed, and the package that brings each. @typedef {Readonly<Record<string, string>>} Commands */

/** Debian keeps commands of the administrator here. They may not be in PATH. */
const adminFolders = ['/sbin', '/usr/sbin'];

/**
 * True when the host has a command.
 * @param {string} command
 * @returns {boolean}
 */
export function hasCommand(command) {
  const folders = [...(process.env.PATH ?? '').split(':'), ...adminFolders];
  return folders.some((dir) => dir !== '' && existsSync(join(dir, command)));
}

/**
 * The reason why the host cannot have these commands. Quick and silent.
 * @param {Commands} commands
 * @returns {string | undefined} one line for the operator
 */
export function findMissingCommands(commands) {
  const missing = Object.keys(commands).filter((command) => !hasCommand(command));
  if (missing.length === 0 || hasCommand('apt-get')) return undefined;
  return `${missing.join(', ')} not found, and no apt-get to install it`;
}

/**
 * Installs those of the commands that the host does not have.
 * @param {Commands} commands
 * @param {Log} log
 * @returns {void}
 * @throws {Error} with apt's complaint
 */
export function installCommands(commands, log) {
  const missing = Object.entries(commands).filter(([command]) => !hasCommand(command));
  if (missing.length > 0) installPackages([...new Set(missing.map(([, name]) => name))], log);
}

/**
 * Installs packages on the host.
 * @param {string[]} packages
 * @param {Log} log
 * @returns {void}
 * @throws {Error} with apt's complaint
 */
export function installPackages(packages, log) {
  log(`installing ${packages.join(', ')} with apt-get`);
  runAptGet('update');
  runAptGet('install', '-y', '--no-install-recommends', ...packages);
}

/**
 * Runs apt-get, one at a time: two of it at once fail on apt's own locks.
 * @param {string[]} args
 * @returns {void}
 * @throws {Error} with its complaint
 */
export function runAptGet(...args) {
  const release = holdLock(join(cacheDir(), 'apt.lock'), 'apt-get');
  try {
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    const what = `apt-get ${args[0]}`;
    const { status, stderr } = runWithProgressSync('apt-get', ['-qq', '-o', 'Acquire::Retries=5', ...args], {
      what,
      env,
    });
    if (status !== 0) throw new Error(`${what} failed with status ${status}: ${stderr.trim()}`);
  } finally {
    release();
  }
}
