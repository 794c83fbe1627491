// Builds, once, the API server of CustomResourceDefinitions and etcd from Debian's packages, and keeps both in the cache.
//
//   node scripts/apiserver/build.mjs     prints the folder, or says on stderr why there is none (exit 1)
//
// Debian ships no kube-apiserver, but the source of k8s.io/apiextensions-apiserver, whose main program is the part of it
// that serves custom resources: real storage, validation, watches, patches and conflicts. Compiling takes some minutes.
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { unpackPackages } from '../machines/debian.mjs';
import {
  cacheDir,
  findMissingPrerequisite as findMissing,
  installHostPackages,
  installPackages,
} from '../runtime/debian-root.mjs';

/** Raise it when what the folder contains changes: older folders are then left aside. */
const recipe = 1;
const suite = 'sid';
const source = 'golang-k8s-apiextensions-apiserver-dev';
const packages = ['golang-go', source, 'etcd-server', 'ca-certificates'];
const buildSeconds = 1_500;

/** Why no API server can be had on this machine for certain, or undefined when building one is worth a try. */
export function findMissingPrerequisite(env = process.env) {
  return findBuilt(env) === undefined ? findMissing(suite, env) : undefined;
}

/** The newest finished folder, or undefined. Its name ends with the version of Kubernetes' packages. */
export function findBuilt(env = process.env) {
  if (!existsSync(cacheDir(env))) return undefined;
  const prefix = `apiserver-${recipe}-`;
  const names = readdirSync(cacheDir(env)).filter((name) => name.startsWith(prefix) && !name.includes('.building-'));
  names.sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
  return names.length === 0 ? undefined : join(cacheDir(env), names.at(-1));
}

/**
 * Gives the folder with `apiserver`, `etcd` and `versions.json`, building it when the cache has none. Who comes while
 * another process builds waits for it.
 * @param {(line: string) => void} log takes progress, a line at a time
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

/** Its certificates are made with it. */
function installOpenssl(log) {
  if (spawnSync('openssl', ['version']).status === 0) return;
  installPackages(['openssl'], log);
}

/** The build itself, by one process at a time. */
function build() {
  if (findBuilt() !== undefined) return;
  const log = (line) => console.error(line);
  installHostPackages(log);
  const dir = cacheDir();
  for (const name of readdirSync(dir))
    if (/^apiserver-.*\.building-\d+$/.test(name)) rmSync(join(dir, name), { recursive: true, force: true });
  const building = join(dir, `apiserver-${recipe}.building-${process.pid}`);
  const root = join(building, 'root');
  try {
    mkdirSync(building);
    log(`unpacking ${packages.join(', ')} of Debian ${suite}`);
    unpackPackages({ suite, packages, target: root, variant: 'minbase' });
    log('compiling k8s.io/apiextensions-apiserver');
    compile(root);
    const versions = readVersions(root);
    mkdirSync(join(building, 'made'));
    renameSync(join(root, 'apiserver'), join(building, 'made/apiserver'));
    cpSync(join(root, 'usr/bin/etcd'), join(building, 'made/etcd'));
    writeFileSync(join(building, 'made/versions.json'), `${JSON.stringify(versions, null, 2)}\n`);
    renameSync(join(building, 'made'), join(dir, `apiserver-${recipe}-${versions[source]}`));
  } finally {
    rmSync(building, { recursive: true, force: true });
  }
}

/** Compiles inside the root, in a mount namespace of its own: nothing stays mounted, whatever happens. */
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
  const told = (done.stderr ?? '').trim().split('\n').slice(-5).join(' / ');
  throw new Error(`the API server does not compile: ${told || done.error || done.signal}`);
}

function readVersions(root) {
  const stanzas = readFileSync(join(root, 'var/lib/dpkg/status'), 'utf8').split('\n\n');
  const versionOf = (name) =>
    stanzas.find((stanza) => stanza.startsWith(`Package: ${name}\n`))?.match(/^Version: (.*)$/m)?.[1];
  return Object.fromEntries(['golang-go', source, 'etcd-server'].map((name) => [name, versionOf(name)]));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  try {
    if (process.argv[2] === '--locked') build();
    else console.log(ensureApiServer({ log: (line) => console.error(line) }));
  } catch (error) {
    console.error(`no API server: ${error.message}`);
    process.exitCode = 1;
  }
}
