// A suite: a containerd and a runc. Those of Debian's `trixie` and `sid`, and `release`: a newer containerd with the runc of sid.
//
//   node scripts/runtime/suite.mjs trixie|sid|release     gets it ready and prints its versions; else says why there is none, and
//                                                         ends with 3 when it would have to be built and there is no Go, with 1 otherwise
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ensureContainerdRelease, findMissingForRelease } from './containerd-release/build.mjs';
import { ensureRoot, readPackageVersions } from './debian-root.mjs';

/** Names a folder with the programs of a containerd 2.x, which `release` then is. */
const variable = 'CPUSETD_CONTAINERD';
const programs = ['containerd', 'containerd-shim-runc-v2', 'ctr'];
const statusNoGo = 3;

/**
 * Gives what a runtime of the suite is made of, building what the cache does not have.
 * @param {string} suite
 * @param {(line: string) => void} log takes progress, a line at a time
 * @returns {{ root: string, versions: Record<string, string>, programsDir?: string }} root: a Debian root folder; versions: by
 *   package; programsDir: where containerd's programs are when they are not Debian's
 * @throws {Error} with the reason for the operator when it can't be had
 */
export function ensureSuite(suite, { env = process.env, log = () => {} } = {}) {
  const root = ensureRoot(suite === 'release' ? 'sid' : suite, { env, log });
  const versions = readPackageVersions(root);
  if (suite !== 'release') return { root, versions };
  const programsDir = findOwnContainerd(env) ?? ensureContainerdRelease({ env, log });
  return { root, versions: { ...versions, containerd: readVersion(programsDir) }, programsDir };
}

/** Why the suite's containerd would have to be built and can't be for want of Go; undefined for all that is not built. */
export function findWhyNoGo(suite, env = process.env) {
  return suite === 'release' && !env[variable] ? findMissingForRelease(env) : undefined;
}

/** Copies containerd's programs to a new folder, where a runtime can see them. */
export function copyPrograms(from, to) {
  mkdirSync(to);
  for (const name of programs) cpSync(join(from, name), join(to, name), { dereference: true });
}

function findOwnContainerd(env) {
  const dir = env[variable];
  if (!dir) return undefined;
  const missing = programs.filter((name) => !existsSync(join(dir, name)));
  if (missing.length > 0) throw new Error(`${variable}=${dir} has no ${missing.join(', no ')}`);
  return dir;
}

/** It prints its name, module, version and revision. */
function readVersion(programsDir) {
  const printed = execFileSync(join(programsDir, 'containerd'), ['--version'], { encoding: 'utf8' });
  return printed.trim().split(' ')[2]?.replace(/^v/, '') ?? 'unknown';
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [suite = 'trixie'] = process.argv.slice(2);
  const noGo = findWhyNoGo(suite);
  try {
    if (noGo !== undefined) throw new Error(noGo);
    const { containerd, runc } = ensureSuite(suite, { log: (line) => console.error(line) }).versions;
    console.log(`containerd ${containerd}, runc ${runc}`);
  } catch (error) {
    console.error(error.message);
    process.exitCode = noGo === undefined ? 1 : statusNoGo;
  }
}
