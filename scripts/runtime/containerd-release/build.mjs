// Builds, once, the newest containerd that the tests know, unmodified, from the Go modules that go.mod beside this file pins,
// and keeps it in the cache. Debian has no containerd from 2.2 on.
//
//   node scripts/runtime/containerd-release/build.mjs     prints the folder of its programs, or why there is none (exit 1)
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cacheDir } from '../../shared/cache.mjs';
import { codeOf, messageOf } from '../../shared/errors.mjs';
import { isMain } from '../../shared/is-main.mjs';
import { logToStderr } from '../../shared/log.mjs';

/** @import { EnsureOptions } from '../../shared/cache.mjs' */

const here = fileURLToPath(new URL('.', import.meta.url));
const buildSeconds = 900;

/** The programs' Go packages, as go.mod lists them. */
const packages = [...readFileSync(join(here, 'go.mod'), 'utf8').matchAll(/^\t(\S+\/cmd\/\S+)$/gm)].flatMap(
  ([, name]) => name ?? [],
);

/**
 * The folder of the finished programs; it may not exist yet. Another version, or other sums, have another folder.
 * @param {NodeJS.ProcessEnv} env
 * @returns {string}
 */
export function releaseDirOf(env = process.env) {
  const pins = createHash('sha256')
    .update(readFileSync(join(here, 'go.sum')))
    .digest('hex')
    .slice(0, 12);
  return join(cacheDir(env), `containerd-release-${pins}`);
}

/**
 * The environment of go, without the workspace and the flags of the caller.
 * @param {NodeJS.ProcessEnv} env
 * @returns {NodeJS.ProcessEnv}
 */
const goEnv = (env) => ({ ...env, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly', GOWORK: 'off' });

/**
 * The reason why there is no Go that can build it.
 * @param {NodeJS.ProcessEnv} env
 * @returns {string | undefined} undefined when there is one or the cache has the programs
 */
export function findMissingForRelease(env = process.env) {
  if (existsSync(releaseDirOf(env))) return undefined;
  // It needs no network, but fails when this Go is older than go.mod asks for and can't fetch a newer one.
  const go = spawnSync('go', ['list', '-m'], { cwd: here, env: goEnv(env), encoding: 'utf8' });
  if (go.status === 0) return undefined;
  const why = codeOf(go.error) === 'ENOENT' ? 'there is no go command' : lastLine(go.stderr) || go.error?.message;
  return `building containerd needs Go: ${why}`;
}

/** @param {string | null} text null when the program could not be started */
const lastLine = (text) => (text ?? '').trim().split('\n').at(-1);

/**
 * Gives the folder with `containerd`, `containerd-shim-runc-v2` and `ctr`, building them when the cache has none (about
 * three minutes). While another process builds, it waits for that one.
 * @param {EnsureOptions} options
 * @returns {string} the folder
 * @throws {Error} with the reason for the operator when it can't be had
 */
export function ensureContainerdRelease({ env = process.env, log = () => {} } = {}) {
  const dir = releaseDirOf(env);
  if (existsSync(dir)) return dir;
  const missing = findMissingForRelease(env);
  if (missing !== undefined) throw new Error(missing);
  mkdirSync(cacheDir(env), { recursive: true });
  log('building containerd from its Go modules: about three minutes, once');
  const done = spawnSync('flock', [`${dir}.lock`, process.execPath, fileURLToPath(import.meta.url), '--locked'], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
    encoding: 'utf8',
    timeout: 2 * buildSeconds * 1000,
  });
  if (done.status !== 0)
    throw new Error(lastLine(done.stderr) || `containerd can't be built: ${done.error?.message ?? done.signal}`);
  return dir;
}

/** @param {string} dir @param {NodeJS.ProcessEnv} env */
function build(dir, env) {
  if (existsSync(dir)) return;
  const building = `${dir}.building-${process.pid}`;
  mkdirSync(building);
  try {
    const go = spawnSync(
      'go',
      ['build', '-trimpath', '-tags', 'no_btrfs,no_devmapper', '-o', `${building}/`, ...packages],
      {
        cwd: here,
        env: goEnv(env),
        encoding: 'utf8',
        timeout: buildSeconds * 1000,
      },
    );
    if (go.status !== 0) throw new Error(`containerd can't be built: ${lastLine(go.stderr) || go.error?.message}`);
    const lacking = packages.map((name) => basename(name)).filter((name) => !existsSync(join(building, name)));
    if (lacking.length > 0) throw new Error(`the build made no ${lacking.join(', no ')}`);
    renameSync(building, dir);
  } finally {
    rmSync(building, { recursive: true, force: true });
  }
}

if (isMain(import.meta.url)) {
  try {
    if (process.argv.includes('--locked')) build(releaseDirOf(), process.env);
    else console.log(ensureContainerdRelease({ log: logToStderr }));
  } catch (error) {
    console.error(messageOf(error));
    process.exitCode = 1;
  }
}
