// A suite: a runtime and a runc. Those of Debian's `trixie` and `sid`, `release`: a newer containerd, and `crio`:
// CRI-O, both with the runc of sid.
//
// node scripts/runtime/suite.mjs trixie|sid|release|crio gets it ready and prints its versions; else says why there is
// none, and
// ends with 3 when it would have to be built and this machine cannot, with 1 otherwise
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { CannotBuild, ensureGoPrograms, statusCannotBuild } from '../go-programs/build.mjs';
import { messageOf } from '../shared/errors.mjs';
import { isMain } from '../shared/is-main.mjs';
import { logToStderr } from '../shared/log.mjs';
import { ensureRoot, readRootVersions } from './debian-root.mjs';

/** @import { EnsureOptions } from '../shared/cache.mjs' */

/** The variable that names a folder with the programs of a containerd 2.x, which `release` then is. */
const variable = 'CPUSETD_CONTAINERD';
/**
 * The suites whose runtime is not Debian's: its Go module, and those of its programs that are needed.
 * @type {Partial<Record<string, { module: string, programs: string[] }>>}
 */
const built = {
  release: { module: 'containerd', programs: ['containerd', 'containerd-shim-runc-v2', 'ctr'] },
  crio: { module: 'cri-o', programs: ['crio', 'pinns'] },
};

/**
 * Gives the parts of a runtime of the suite, and builds those that the cache does not have.
 * @param {string} suite
 * @param {EnsureOptions} options
 * @returns {{ root: string, versions: Record<string, string>, programs: string[] }} root: a Debian root folder;
 * versions: by
 *   package or program; programs: the paths of programs that are not Debian's
 * @throws {Error} with the reason for the operator when it can't be had
 */
export function ensureSuite(suite, { env = process.env, log = () => {} } = {}) {
  const own = built[suite];
  if (own === undefined) {
    const root = ensureRoot(suite, { env, log });
    return { root, versions: readRootVersions(root), programs: [] };
  }
  const { dir, versions } = findOwnContainerd(suite, own.programs, env) ?? ensureGoPrograms(own.module, { env, log });
  const root = ensureRoot('sid', { env, log });
  const { containerd: _debians, ...others } = readRootVersions(root);
  return { root, versions: { ...others, ...versions }, programs: own.programs.map((name) => join(dir, name)) };
}

/**
 * The runtime of a suite in a line.
 * @param {Record<string, string>} versions
 * @returns {string}
 */
export const describeVersions = ({ crio, containerd, runc }) =>
  `${crio === undefined ? `containerd ${containerd}` : `CRI-O ${crio}`}, runc ${runc}`;

/**
 * The containerd of the user for suite `release`.
 * @param {string} suite
 * @param {string[]} programs
 * @param {NodeJS.ProcessEnv} env
 */
function findOwnContainerd(suite, programs, env) {
  const dir = env[variable];
  if (suite !== 'release' || !dir) return undefined;
  const missing = programs.filter((name) => !existsSync(join(dir, name)));
  if (missing.length > 0) throw new Error(`${variable}=${dir} has no ${missing.join(', no ')}`);
  return { dir, versions: { containerd: readVersion(dir) } };
}

/**
 * Reads the version that containerd prints after its name and module.
 * @param {string} dir
 */
function readVersion(dir) {
  const printed = execFileSync(join(dir, 'containerd'), ['--version'], { encoding: 'utf8' });
  return printed.trim().split(' ')[2]?.replace(/^v/, '') ?? 'unknown';
}

if (isMain(import.meta.url)) {
  const [suite = 'trixie'] = process.argv.slice(2);
  try {
    console.log(describeVersions(ensureSuite(suite, { log: logToStderr }).versions));
  } catch (error) {
    console.error(messageOf(error));
    process.exitCode = error instanceof CannotBuild ? statusCannotBuild : 1;
  }
}
