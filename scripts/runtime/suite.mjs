// A suite: a containerd and a runc. Those of Debian's `trixie` and `sid`, and `release`: a newer containerd with the runc of sid.
//
//   node scripts/runtime/suite.mjs trixie|sid|release     gets it ready and prints its versions; else says why there is none, and
//                                                         ends with 3 when it would have to be built and there is no Go, with 1 otherwise
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { ensureGoPrograms, findMissingForGoPrograms } from '../go-programs/build.mjs';
import { messageOf } from '../shared/errors.mjs';
import { isMain } from '../shared/is-main.mjs';
import { logToStderr } from '../shared/log.mjs';
import { ensureRoot, readRootVersions } from './debian-root.mjs';

/** @import { EnsureOptions } from '../shared/cache.mjs' */

/** The variable that names a folder with the programs of a containerd 2.x, which `release` then is. */
const variable = 'CPUSETD_CONTAINERD';
const programs = ['containerd', 'containerd-shim-runc-v2', 'ctr'];
const statusNoGo = 3;

/**
 * Gives the parts of a runtime of the suite, and builds those that the cache does not have.
 * @param {string} suite
 * @param {EnsureOptions} options
 * @returns {{ root: string, versions: Record<string, string>, programsDir?: string }} root: a Debian root folder; versions: by
 *   package; programsDir: where containerd's programs are when they are not Debian's
 * @throws {Error} with the reason for the operator when it can't be had
 */
export function ensureSuite(suite, { env = process.env, log = () => {} } = {}) {
  const root = ensureRoot(suite === 'release' ? 'sid' : suite, { env, log });
  const versions = readRootVersions(root);
  if (suite !== 'release') return { root, versions };
  const programsDir = findOwnContainerd(env) ?? ensureGoPrograms('containerd', { env, log }).dir;
  return { root, versions: { ...versions, containerd: readVersion(programsDir) }, programsDir };
}

/**
 * The reason why the suite's containerd can't be built for want of Go.
 * @param {string} suite
 * @param {NodeJS.ProcessEnv} env
 * @returns {string | undefined} undefined when there is Go, or nothing to build
 */
export function findWhyNoGo(suite, env = process.env) {
  return suite === 'release' && !env[variable] ? findMissingForGoPrograms('containerd', env) : undefined;
}

/**
 * Copies containerd's programs to a new folder, where a runtime can see them.
 * @param {string} from
 * @param {string} to
 * @returns {void}
 */
export function copyPrograms(from, to) {
  mkdirSync(to);
  for (const name of programs) cpSync(join(from, name), join(to, name), { dereference: true });
}

/** @param {NodeJS.ProcessEnv} env */
function findOwnContainerd(env) {
  const dir = env[variable];
  if (!dir) return undefined;
  const missing = programs.filter((name) => !existsSync(join(dir, name)));
  if (missing.length > 0) throw new Error(`${variable}=${dir} has no ${missing.join(', no ')}`);
  return dir;
}

/**
 * Reads the version that containerd prints after its name and module.
 * @param {string} programsDir
 */
function readVersion(programsDir) {
  const printed = execFileSync(join(programsDir, 'containerd'), ['--version'], { encoding: 'utf8' });
  return printed.trim().split(' ')[2]?.replace(/^v/, '') ?? 'unknown';
}

if (isMain(import.meta.url)) {
  const [suite = 'trixie'] = process.argv.slice(2);
  const noGo = findWhyNoGo(suite);
  try {
    if (noGo !== undefined) throw new Error(noGo);
    const { containerd, runc } = ensureSuite(suite, { log: logToStderr }).versions;
    console.log(`containerd ${containerd}, runc ${runc}`);
  } catch (error) {
    console.error(messageOf(error));
    process.exitCode = noGo === undefined ? 1 : statusNoGo;
  }
}
