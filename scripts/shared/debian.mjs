// Debian's packages: commands of the host, apt, and the versions in a root folder.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheDir } from './cache.mjs';

/** @import { Log } from './log.mjs' */

/** The keys that Debian's packages are signed with; Ubuntu does not have them out of the box. */
export const debianKeyring = '/usr/share/keyrings/debian-archive-keyring.gpg';

/**
 * True when a command is in PATH.
 * @param {string} command
 * @param {string[]} furtherFolders searched after PATH
 * @returns {boolean}
 */
export function hasCommand(command, furtherFolders = []) {
  const folders = [...(process.env.PATH ?? '').split(':'), ...furtherFolders];
  return folders.some((dir) => dir !== '' && existsSync(join(dir, command)));
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
 * The address from which this host itself takes Debian packages, as apt sees it (whatever the format of its sources). apt knows
 * origins only after an update.
 * @returns {string | undefined} undefined on a host that is not Debian: mmdebstrap then uses its own default
 */
export function findDebianMirror() {
  const known = listDebianMirror();
  if (known !== undefined) return known;
  try {
    runAptGet('update');
  } catch {
    // There may be lists already.
  }
  return listDebianMirror();
}

function listDebianMirror() {
  const format = '$(ORIGIN)|$(LABEL)|$(COMPONENT)|$(REPO_URI)';
  const listed = spawnSync('apt-get', ['indextargets', '--format', format, 'Created-By: Packages'], {
    encoding: 'utf8',
  });
  const fields = (listed.stdout ?? '').split('\n').map((line) => line.split('|'));
  return fields.find(
    ([origin, label, component]) => origin === 'Debian' && label === 'Debian' && component === 'main',
  )?.[3];
}

/**
 * One at a time: two of it at once fail on apt's own locks.
 * @param {string[]} args
 */
function runAptGet(...args) {
  mkdirSync(cacheDir(), { recursive: true });
  execFileSync('flock', [join(cacheDir(), 'apt.lock'), 'apt-get', '-qq', '-o', 'Acquire::Retries=5', ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  });
}

/**
 * The reason why mmdebstrap failed.
 * @param {import('node:child_process').SpawnSyncReturns<string>} done
 * @returns {string} its last errors, or why it did not run to its end
 */
export function describeMmdebstrapFailure({ stderr, error, signal }) {
  const errors = (stderr ?? '').split('\n').filter((line) => /^E: /.test(line));
  return errors.slice(-5).join(' / ') || String(error ?? signal);
}

/**
 * The versions of installed packages.
 * @param {string} root a folder with a Debian system
 * @param {string[]} packages
 * @returns {Record<string, string>} by package; a package that is not installed is left out
 */
export function readPackageVersions(root, packages) {
  const stanzas = readFileSync(join(root, 'var/lib/dpkg/status'), 'utf8').split('\n\n');
  /** @type {Record<string, string>} */
  const versions = {};
  for (const stanza of stanzas) {
    const name = /^Package: (.*)$/m.exec(stanza)?.[1];
    const version = /^Version: (.*)$/m.exec(stanza)?.[1];
    if (name !== undefined && version !== undefined && packages.includes(name)) versions[name] = version;
  }
  return versions;
}
