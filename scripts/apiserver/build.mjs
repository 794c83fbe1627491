// Builds, once, the API server of CustomResourceDefinitions and etcd from Debian's packages, and keeps both in the cache.
//
//   node scripts/apiserver/build.mjs     prints the folder, or says on stderr why there is none (exit 1)
//
// Debian ships no kube-apiserver, but the source of k8s.io/apiextensions-apiserver, whose main program is the part of it
// that serves custom resources: real storage, validation, watches, patches and conflicts. Compiling takes some minutes.
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { unpackPackages } from '../machines/debian.mjs';
import { findMissingPrerequisite as findMissing, installHostPackages } from '../runtime/debian-root.mjs';
import { cacheDir } from '../shared/cache.mjs';
import { installPackages, readPackageVersions } from '../shared/debian.mjs';
import { messageOf } from '../shared/errors.mjs';
import { isMain } from '../shared/is-main.mjs';
import { logToStderr } from '../shared/log.mjs';

/** @import { EnsureOptions } from '../shared/cache.mjs' */
/** @import { Log } from '../shared/log.mjs' */

/** The number of the recipe. Raise it when the contents of the folder change: older folders are then left aside. */
const recipe = 1;
const suite = 'sid';
const source = 'golang-k8s-apiextensions-apiserver-dev';
const packages = ['golang-go', source, 'etcd-server', 'ca-certificates'];
const buildSeconds = 1_500;

/**
 * The reason why no API server can be had on this machine for certain.
 * @param {NodeJS.ProcessEnv} env
 * @returns {string | undefined} undefined when building one is worth a try
 */
export function findMissingPrerequisite(env = process.env) {
  return findBuilt(env) === undefined ? findMissing(suite, env) : undefined;
}

/**
 * The newest finished folder. Its name ends with the version of Kubernetes' packages.
 * @param {NodeJS.ProcessEnv} env
 * @returns {string | undefined}
 */
export function findBuilt(env = process.env) {
  if (!existsSync(cacheDir(env))) return undefined;
  const prefix = `apiserver-${recipe}-`;
  const names = readdirSync(cacheDir(env)).filter((name) => name.startsWith(prefix) && !name.includes('.building-'));
  names.sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
  const newest = names.at(-1);
  return newest === undefined ? undefined : join(cacheDir(env), newest);
}

/**
 * Gives the folder with `apiserver`, `etcd` and `versions.json`, building it when the cache has none. While another
 * process builds, it waits for that one.
 * @param {EnsureOptions} options
 * @returns {string} the folder
 * @throws {Error} with the reason for the operator when it can't be had
 */
export function ensureApiServer({ env = process.env, log = () => {} } = {}) {
  installOpenssl(log);
  const built = findBuilt(env);
  if (built !== undefined) return built;
  const missing = findMissing(suite, env);
  if (missing !== undefined) throw new Error(missing);
  mkdirSync(cacheDir(env), { recursive: true });
  const lock = join(cacheDir(env), 'apiserver.lock');
  log('building an API server for custom resources: about six minutes, once');
  execFileSync('flock', [lock, process.execPath, fileURLToPath(import.meta.url), '--locked'], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
    timeout: 2 * buildSeconds * 1000,
  });
  const now = findBuilt(env);
  if (now === undefined) throw new Error('the build ended without a result');
  return now;
}

/**
 * Installs openssl, which makes the certificates of a server.
 * @param {Log} log
 */
function installOpenssl(log) {
  if (spawnSync('openssl', ['version']).status === 0) return;
  installPackages(['openssl'], log);
}

/** The build itself, by one process at a time. */
function build() {
  if (findBuilt() !== undefined) return;
  installHostPackages(logToStderr);
  const dir = cacheDir();
  for (const name of readdirSync(dir))
    if (/^apiserver-.*\.building-\d+$/.test(name)) rmSync(join(dir, name), { recursive: true, force: true });
  const building = join(dir, `apiserver-${recipe}.building-${process.pid}`);
  const root = join(building, 'root');
  try {
    mkdirSync(building);
    logToStderr(`unpacking ${packages.join(', ')} of Debian ${suite}`);
    unpackPackages({ suite, packages, target: root, variant: 'minbase' });
    logToStderr('compiling k8s.io/apiextensions-apiserver');
    compile(root);
    const versions = readPackageVersions(root, ['golang-go', source, 'etcd-server']);
    mkdirSync(join(building, 'made'));
    renameSync(join(root, 'apiserver'), join(building, 'made/apiserver'));
    cpSync(join(root, 'usr/bin/etcd'), join(building, 'made/etcd'));
    writeFileSync(join(building, 'made/versions.json'), `${JSON.stringify(versions, null, 2)}\n`);
    renameSync(join(building, 'made'), join(dir, `apiserver-${recipe}-${versions[source]}`));
  } finally {
    rmSync(building, { recursive: true, force: true });
  }
}

/**
 * Compiles inside the root, in a mount namespace of its own: nothing stays mounted, whatever happens.
 * @param {string} root
 */
function compile(root) {
  const script = `
    mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" /usr/bin/env -i \\
      PATH=/usr/bin:/bin HOME=/root GOCACHE=/gocache GO111MODULE=off GOPATH=/usr/share/gocode CGO_ENABLED=0 \\
      GOTOOLCHAIN=local GOFLAGS=-trimpath \\
      sh -c 'cd /usr/share/gocode/src/k8s.io/apiextensions-apiserver && nice -n 10 go build -ldflags "-s -w" -o /apiserver .'`;
  const done = spawnSync('unshare', ['--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', script, root], {
    encoding: 'utf8',
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: buildSeconds * 1000,
  });
  if (done.status === 0) return;
  const complaint = (done.stderr ?? '').trim().split('\n').slice(-5).join(' / ');
  throw new Error(`the API server does not compile: ${complaint || String(done.error ?? done.signal)}`);
}

if (isMain(import.meta.url)) {
  try {
    if (process.argv[2] === '--locked') build();
    else console.log(ensureApiServer({ log: logToStderr }));
  } catch (error) {
    console.error(`no API server: ${messageOf(error)}`);
    process.exitCode = 1;
  }
}
