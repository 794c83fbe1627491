// Packages of a Debian suite, unpacked into a folder. Of the host's own packages only the tools for that are installed.
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildOnce, nameByContent } from './cache.mjs';
import { findMissingCommands, hasCommand, installCommands, installPackages, runAptGet } from './host-commands.mjs';
import { runWithProgressSync } from './run-with-progress.mjs';

/** @import { Log } from './log.mjs' */

/**
 * @typedef {object} Packages
 * @property {string} suite
 * @property {readonly string[]} packages they come with their dependencies
 * @property {'extract' | 'minbase'} variant `extract` only unpacks; `minbase` makes a configured system
 * @property {readonly string[]} [folders] further folders, as paths from the folder of the packages
 * @property {Readonly<Record<string, { text: string, mode?: number }>>} [files] further files, in place of those of the
 * packages
 */

/** The options of mmdebstrap that are the same for all packages. */
const unpackOptions = [
  '--mode=root',
  '--aptopt=APT::Install-Recommends "false"',
  '--aptopt=Acquire::Retries "5"',
  // A snapshot of a moving suite may be past its date; its signature is checked all the same.
  '--aptopt=Acquire::Check-Valid-Until "false"',
  ...['doc', 'man', 'locale'].map((name) => `--dpkgopt=path-exclude=/usr/share/${name}/*`),
];
const hostCommands = { mmdebstrap: 'mmdebstrap' };
/** The keys that Debian's packages are signed with; Ubuntu does not have them out of the box. */
export const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg';

/**
 * The reason why packages cannot be unpacked on this machine for certain. Quick and silent.
 * @returns {string | undefined} one line for the operator; undefined when it is worth a try
 */
export function findMissingForPackages() {
  if (process.platform !== 'linux') return 'Debian packages are unpacked on Linux only';
  if (process.getuid?.() !== 0) return 'unpacking Debian packages needs root: run this as root (sudo)';
  return findMissingCommands(hostCommands);
}

/**
 * Installs the keys when the host does not have them, which takes root.
 * @param {Log} log
 * @returns {void}
 */
export function installKeyring(log) {
  if (!existsSync(keyring) && hasCommand('apt-get')) installPackages(['debian-archive-keyring'], log);
}

/**
 * The path of a folder with packages: its name has a hash of the list of packages, of the options that they are
 * unpacked with, and of what is added.
 * @param {string} path
 * @param {Packages} packages
 * @returns {string}
 */
export const packagesPath = (path, packages) => nameByContent(path, { packages, unpackOptions });

/**
 * Gives a folder with packages, and fills it when it is not there.
 * @param {string} path the beginning of its path: see `packagesPath`
 * @param {Packages} packages
 * @param {Log} log
 * @returns {string} its path
 * @throws {Error} with the reason for the operator when they can't be had
 */
export function ensurePackages(path, packages, log) {
  const fill = (/** @type {string} */ building) => {
    log(`unpacking ${packages.packages.join(', ')} of Debian ${packages.suite}`);
    unpackPackages(building, packages, log);
    for (const folder of packages.folders ?? []) mkdirSync(join(building, folder), { recursive: true });
    for (const [name, { text, mode }] of Object.entries(packages.files ?? {})) {
      rmSync(join(building, name), { force: true }); // it may be a link
      writeFileSync(join(building, name), text);
      if (mode !== undefined) chmodSync(join(building, name), mode);
    }
  };
  return buildOnce(packagesPath(path, packages), fill, { log });
}

/**
 * Fills a new folder with packages.
 * @param {string} target the folder
 * @param {Packages} packages
 * @param {Log} log
 * @returns {void}
 * @throws {Error} with the reason for the operator when they can't be had
 */
export function unpackPackages(target, { suite, packages, variant }, log) {
  const missing = findMissingForPackages();
  if (missing !== undefined) throw new Error(missing);
  installCommands(hostCommands, log);
  installKeyring(log);
  const mirror = findMirror();
  const args = [
    ...unpackOptions,
    `--variant=${variant}`,
    `--include=${packages.join(',')}`,
    ...(existsSync(keyring) ? [`--keyring=${keyring}`] : []),
    ...[suite, target, ...(mirror === undefined ? [] : [mirror])],
  ];
  const { status, stderr } = runWithProgressSync('mmdebstrap', args, { what: `Debian ${suite} packages` });
  if (status !== 0) throw new Error(`Debian ${suite} packages can't be had: ${lastErrors(stderr)}`);
  for (const name of ['bin', 'sbin', 'lib', 'lib64'])
    if (!existsSync(join(target, name)) && existsSync(join(target, 'usr', name)))
      symlinkSync(`usr/${name}`, join(target, name));
}

/**
 * The address from which this host itself takes Debian packages, as apt sees it (whatever the format of its sources).
 * apt knows origins only after an update.
 * @param {string} [archive] the label of the archive, `Debian` or `Debian-Security`
 * @returns {string | undefined} undefined on a host that is not Debian: mmdebstrap then uses its own default
 */
export function findMirror(archive = 'Debian') {
  const known = listMirror(archive);
  if (known !== undefined) return known;
  try {
    runAptGet('update');
  } catch {
    // There may be lists already.
  }
  return listMirror(archive);
}

/** @param {string} archive */
function listMirror(archive) {
  const format = '$(ORIGIN)|$(LABEL)|$(COMPONENT)|$(REPO_URI)';
  const listed = spawnSync('apt-get', ['indextargets', '--format', format, 'Created-By: Packages'], {
    encoding: 'utf8',
  });
  const fields = (listed.stdout ?? '').split('\n').map((line) => line.split('|'));
  return fields.find(
    ([origin, label, component]) => origin === 'Debian' && label === archive && component === 'main',
  )?.[3];
}

/**
 * The last errors of mmdebstrap.
 * @param {string} stderr
 */
function lastErrors(stderr) {
  const lines = stderr.trim().split('\n');
  const errors = lines.filter((line) => /^E: /.test(line));
  return errors.slice(-5).join(' / ') || lines.at(-1);
}

/**
 * The versions of installed packages.
 * @param {string} root a folder with a Debian system
 * @param {readonly string[]} packages
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
