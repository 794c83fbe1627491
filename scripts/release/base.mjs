// The base of the image: the files of Debian that Node and cpusetd need, from packages of fixed versions and digests
// (base.json).
//
//   node scripts/release/base.mjs --renew     writes base.json anew, with the versions that Debian stable has today
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildOnce, cacheDir } from '../shared/cache.mjs';
import { findMirror, installKeyring, keyring } from '../shared/debian.mjs';
import { isMain } from '../shared/is-main.mjs';
import { logToStderr } from '../shared/log.mjs';
import { runWithProgressSync } from '../shared/run-with-progress.mjs';

/** @import { EnsureOptions } from '../shared/cache.mjs' */
/** @typedef {'amd64' | 'arm64'} DebianArch */
/** @typedef {{ version: string, sha256: string }} Pin */
/** @typedef {Record<DebianArch, Record<string, Pin>>} Pins */

export const suite = 'trixie';
const pinsFile = new URL('base.json', import.meta.url);

/**
 * The files that are taken of each package: libraries for Node, env for the first line of cpusetd, a shell and flock
 * for its locks (src/host/locks/flock.ts), sleep for pods in which commands are run (deploy/overlays/cri-proxy), and
 * what tells scanners the distribution. The terms of all of them come too.
 * @type {Record<string, RegExp>}
 */
const taken = {
  'base-files': /^usr\/lib\/os-release$/,
  coreutils: /^usr\/bin\/(env|sleep)$/,
  dash: /^usr\/bin\/(dash|sh)$/,
  'gcc-14-base': /^$/,
  libc6: /^usr\/lib(64)?\/([^/]+\/)?(ld-linux-[\w-]+|lib(c|dl|m|nss_dns|nss_files|pthread|resolv|rt))\.so\.\d+$/,
  'libgcc-s1': /^usr\/lib\/[^/]+\/[^/]+\.so\.\d+$/,
  'libstdc++6': /^usr\/lib\/[^/]+\/[^/]+\.so(\.\d+)+$/,
  'util-linux': /^usr\/bin\/flock$/,
};
const terms = /^usr\/share\/doc\/[^/]+\/copyright$/;

/** @returns {Pins} */
export const readPins = () => JSON.parse(readFileSync(pinsFile, 'utf8'));

/**
 * Gives a folder with the Debian packages of an architecture, and fetches them when the cache has none (5 MB).
 * @param {DebianArch} arch
 * @param {EnsureOptions & { pins?: Pins }} [options] pins: those of base.json by default
 * @returns {string} the folder
 * @throws {Error} with the reason for the operator when they can't be had
 */
export function ensureBasePackages(arch, { pins: all = readPins(), env = process.env, log = () => {} } = {}) {
  const pins = all[arch];
  const digest = createHash('sha256').update(JSON.stringify(pins)).digest('hex').slice(0, 12);
  return buildOnce(
    join(cacheDir(env), `image-base-${arch}-${digest}`),
    (building) => {
      log(`fetching the image's base of Debian ${suite} for ${arch}`);
      mkdirSync(building, { recursive: true });
      withApt(arch, (apt) => {
        try {
          const wanted = Object.entries(pins).map(([name, { version }]) => `${name}=${version}`);
          return apt('apt-get', ['download', ...wanted], building);
        } catch (error) {
          const renew = 'node scripts/release/base.mjs --renew';
          throw new Error(`Debian ${suite} has not all versions of base.json any more: run ${renew}`, { cause: error });
        }
      });
      for (const deb of listDebs(building)) {
        const { sha256 } = pins[deb.name] ?? {};
        const found = createHash('sha256').update(readFileSync(deb.path)).digest('hex');
        if (found !== sha256) throw new Error(`${deb.name} of Debian ${suite} is not the file that base.json names`);
      }
    },
    { log },
  );
}

/**
 * The files of the base.
 * @param {string} packages see `ensureBasePackages`
 * @returns {import('./tar.mjs').Entry[]}
 */
export function listBaseFiles(packages) {
  const unpacked = mkdtempSync(join(tmpdir(), 'cpusetd-base-'));
  try {
    const entries = listDebs(packages).flatMap(({ name, path, control }) => {
      const tree = join(unpacked, name);
      execFileSync('dpkg-deb', ['--extract', path, tree]);
      const files = readTree(tree).filter((entry) => taken[name]?.test(entry.name) || terms.test(entry.name));
      // Scanners find the packages of an image without dpkg here, a file for each.
      return [...files, { name: `var/lib/dpkg/status.d/${name}`, content: control }];
    });
    const tops = ['bin', 'lib', 'lib64'].filter((top) => entries.some(({ name }) => name.startsWith(`usr/${top}/`)));
    return [...entries, ...tops.map((name) => ({ name, linkTo: `usr/${name}` })), ...ownFiles];
  } finally {
    rmSync(unpacked, { recursive: true, force: true });
  }
}

/**
 * Users, a folder for temporary files, and the order in which names are resolved. @type {import('./tar.mjs').Entry[]}
 */
const ownFiles = [
  { name: 'tmp', isFolder: true, mode: 0o1777 },
  { name: 'etc/os-release', linkTo: '../usr/lib/os-release' },
  {
    name: 'etc/passwd',
    content: 'root:x:0:0:root:/root:/bin/sh\nnonroot:x:65532:65532:nonroot:/nonexistent:/bin/false\n',
  },
  { name: 'etc/group', content: 'root:x:0:\nnonroot:x:65532:\n' },
  { name: 'etc/nsswitch.conf', content: 'passwd: files\ngroup: files\nhosts: files dns\n' },
];

/** @param {string} folder */
function listDebs(folder) {
  const paths = readdirSync(folder)
    .filter((name) => name.endsWith('.deb'))
    .sort()
    .map((name) => join(folder, name));
  return paths.map((path) => {
    const control = execFileSync('dpkg-deb', ['--field', path], { encoding: 'utf8' });
    return { path, control, name: /^Package: (.*)$/m.exec(control)?.[1] ?? '' };
  });
}

/**
 * The files and links of a folder and all below it.
 * @param {string} tree
 * @returns {import('./tar.mjs').Entry[]}
 */
function readTree(tree) {
  return readdirSync(tree, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => {
      const path = join(entry.parentPath, entry.name);
      const name = relative(tree, path);
      if (entry.isSymbolicLink()) return { name, linkTo: readlinkSync(path) };
      return { name, content: readFileSync(path), mode: (lstatSync(path).mode & 0o111) === 0 ? 0o644 : 0o755 };
    });
}

/**
 * Calls a function that runs apt with lists of its own, for an architecture that need not be this machine's.
 * @param {DebianArch} arch
 * @param {(apt: (command: 'apt-get' | 'apt-cache', args: string[], cwd?: string) => string) => string} use
 * @returns {string}
 */
function withApt(arch, use) {
  installKeyring(logToStderr);
  const folder = mkdtempSync(join(tmpdir(), 'cpusetd-apt-'));
  try {
    for (const name of ['lists/partial', 'cache/archives/partial']) mkdirSync(join(folder, name), { recursive: true });
    const [mirror, security] = [findMirror(), findMirror('Debian-Security')];
    if (mirror === undefined)
      throw new Error('apt of this machine has no source of Debian: make the image on Debian, or add a source');
    const sources = [`${mirror} ${suite}`, ...(security === undefined ? [] : [`${security} ${suite}-security`])];
    const lines = sources.map((source) => `deb [signed-by=${keyring} check-valid-until=no] ${source} main\n`);
    writeFileSync(join(folder, 'sources.list'), lines.join(''));
    const settings = {
      'Dir::Etc::sourcelist': join(folder, 'sources.list'),
      'Dir::Etc::sourceparts': '-',
      'Dir::State::lists': join(folder, 'lists'),
      'Dir::State::status': '/dev/null',
      'Dir::Cache': join(folder, 'cache'),
      'APT::Architecture': arch,
      'APT::Architectures': arch,
      'APT::Sandbox::User': 'root',
      'Acquire::Retries': '5',
    };
    const options = Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
    /** @param {string} command @param {string[]} args @param {string} [cwd] */
    const apt = (command, args, cwd = folder) => {
      const what = `${command} ${args[0]} for ${arch}`;
      const { status, stdout, stderr } = runWithProgressSync(command, ['-qq', ...options, ...args], { what, cwd });
      if (status !== 0) throw new Error(`${what} failed with status ${status}: ${stderr.trim()}`);
      return stdout;
    };
    apt('apt-get', ['update']);
    return use(apt);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * The newest versions that Debian has.
 * @param {DebianArch} arch
 * @returns {Record<string, Pin>}
 */
function findNewest(arch) {
  const shown = withApt(arch, (apt) => apt('apt-cache', ['show', '--no-all-versions', ...Object.keys(taken)]));
  /** @type {Record<string, Pin>} */
  const pins = {};
  for (const stanza of shown.split('\n\n').filter((text) => text.trim() !== '')) {
    const field = (/** @type {string} */ name) => new RegExp(`^${name}: (.*)$`, 'm').exec(stanza)?.[1] ?? '';
    pins[field('Package')] = { version: field('Version'), sha256: field('SHA256') };
  }
  return Object.fromEntries(Object.entries(pins).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * The versions that Debian has today, in place of base.json.
 * @returns {Pins}
 * @throws {Error} with the reason for the operator when they can't be had
 */
export function findNewestPins() {
  return { amd64: findNewest('amd64'), arm64: findNewest('arm64') };
}

if (isMain(import.meta.url) && process.argv[2] === '--renew') {
  writeFileSync(pinsFile, `${JSON.stringify(findNewestPins(), undefined, 2)}\n`);
  console.log(`written: ${fileURLToPath(pinsFile)}`);
}
