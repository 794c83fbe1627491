// Builds, once, a Debian root folder that holds containerd and runc, and keeps it in the cache.
//
//   node scripts/runtime/debian-root.mjs trixie     prints the folder, or says on stderr why there is none (exit 1)
//
// A finished root is never changed again: a runtime that uses it mounts it read-only (see enter.sh).
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Raise it when what a root contains changes: older roots are then left aside. */
const recipe = 1;
const packages = ['containerd', 'runc', 'busybox-static', 'ca-certificates'];

/** Folders that enter.sh mounts something on, or that containerd wants to find: the root will be read-only. */
const folders = ['run', 'opt', 'tmp', 'old-root', 'var/lib/containerd', 'var/log/pods', 'etc/cni/net.d'];

/** Commands of the host that are needed, and the Debian or Ubuntu package that brings each. */
const hostCommands = { mmdebstrap: 'mmdebstrap', unshare: 'util-linux', nsenter: 'util-linux' };
const debianKeyring = '/usr/share/keyrings/debian-archive-keyring.gpg';

/** Where finished roots and roots in the making live: outside the repository. */
export const cacheDir = (env = process.env) =>
  env.CPUSETD_CACHE || join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'cpusetd');

/** The folder of the suite's root, whether it exists or not. */
export const rootDirOf = (suite, env = process.env) => join(cacheDir(env), `${suite}-${recipe}`);

/**
 * Why no root can be had on this machine for certain, or undefined when building one is worth a try. Quick and silent.
 * @returns {string | undefined} one line for the operator
 */
export function findMissingPrerequisite(suite, env = process.env) {
  if (process.platform !== 'linux') return 'a container runtime needs Linux';
  if (process.getuid() !== 0) return 'a container runtime needs root: run this as root (sudo)';
  const missing = Object.keys(hostCommands).filter((command) => !hasCommand(command));
  if (existsSync(rootDirOf(suite, env)))
    missing.splice(0, missing.length, ...missing.filter((c) => c !== 'mmdebstrap'));
  if (missing.length > 0 && !hasCommand('apt-get'))
    return `${missing.join(', ')} not found, and no apt-get to install it`;
  return undefined;
}

/**
 * Gives the root folder of a Debian suite, building it when the cache has none (about half a minute).
 * @param {string} suite `trixie` (containerd 1.7) or `sid` (2.x)
 * @param {(line: string) => void} log takes progress, a line at a time
 * @returns {string} the folder
 * @throws {Error} with the reason for the operator when it can't be had
 */
export function ensureRoot(suite, { env = process.env, log = () => {} } = {}) {
  if (!/^[a-z]+$/.test(suite)) throw new Error(`not the name of a Debian suite: ${JSON.stringify(suite)}`);
  const missing = findMissingPrerequisite(suite, env);
  if (missing !== undefined) throw new Error(missing);
  installHostPackages(log);

  const root = rootDirOf(suite, env);
  if (existsSync(root)) return root;
  mkdirSync(cacheDir(env), { recursive: true });
  removeAbandonedBuilds(cacheDir(env));
  const building = `${root}.building-${process.pid}`;
  try {
    log(`building a Debian ${suite} root with ${packages.join(', ')} in ${root}`);
    runMmdebstrap(suite, building);
    prepareForReadOnly(building);
    publish(building, root);
  } finally {
    rmSync(building, { recursive: true, force: true });
  }
  return root;
}

function hasCommand(command) {
  return (process.env.PATH ?? '').split(':').some((dir) => dir !== '' && existsSync(join(dir, command)));
}

/** Installs the missing commands of the host with apt. */
export function installHostPackages(log) {
  const wanted = Object.entries(hostCommands).filter(([command]) => !hasCommand(command));
  const missing = [...new Set(wanted.map(([, name]) => name))];
  // Ubuntu does not trust Debian's signatures out of the box.
  if (hasCommand('apt-get') && !existsSync(debianKeyring)) missing.push('debian-archive-keyring');
  if (missing.length === 0) return;
  installPackages(missing, log);
}

/** Installs packages on the host. @throws {Error} with apt's complaint */
export function installPackages(packages, log) {
  log(`installing ${packages.join(', ')} with apt-get`);
  runAptGet('update');
  runAptGet('install', '-y', '--no-install-recommends', ...packages);
}

/** Origins of packages are known only after an update. That it fails is no fault: there may be lists already. */
export function updatePackageLists() {
  try {
    runAptGet('update');
  } catch {
    // whoever needs a list says what it lacks
  }
}

/** One at a time: two of it at once fail on apt's own locks. */
function runAptGet(...args) {
  mkdirSync(cacheDir(), { recursive: true });
  execFileSync('flock', [join(cacheDir(), 'apt.lock'), 'apt-get', '-qq', '-o', 'Acquire::Retries=5', ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  });
}

/**
 * The place this host itself takes Debian packages from, as apt sees it (whatever the format of its sources).
 * Undefined on a host that is not Debian: mmdebstrap then uses its own default.
 */
function findDebianMirror() {
  const format = '$(ORIGIN)|$(LABEL)|$(COMPONENT)|$(REPO_URI)';
  const listed = spawnSync('apt-get', ['indextargets', '--format', format, 'Created-By: Packages'], {
    encoding: 'utf8',
  });
  const fields = (listed.stdout ?? '').split('\n').map((line) => line.split('|'));
  return fields.find(
    ([origin, label, component]) => origin === 'Debian' && label === 'Debian' && component === 'main',
  )?.[3];
}

function runMmdebstrap(suite, target) {
  if (findDebianMirror() === undefined) updatePackageLists();
  const mirror = findDebianMirror();
  const done = spawnSync(
    'mmdebstrap',
    [
      '--mode=root',
      '--variant=minbase',
      `--include=${packages.join(',')}`,
      // A snapshot of a moving suite may be past its date; its signature is checked all the same.
      '--aptopt=Acquire::Check-Valid-Until "false"',
      '--aptopt=Acquire::Retries "5"',
      '--dpkgopt=path-exclude=/usr/share/doc/*',
      '--dpkgopt=path-exclude=/usr/share/man/*',
      '--dpkgopt=path-exclude=/usr/share/locale/*',
      ...(existsSync(debianKeyring) ? [`--keyring=${debianKeyring}`] : []),
      suite,
      target,
      ...(mirror === undefined ? [] : [mirror]),
    ],
    { encoding: 'utf8', stdio: ['ignore', 'ignore', 'pipe'], timeout: 600_000 },
  );
  if (done.status === 0) return;
  const errors = (done.stderr ?? '').split('\n').filter((line) => /^E: /.test(line));
  throw new Error(
    `mmdebstrap could not build Debian ${suite}: ${errors.slice(-5).join(' / ') || done.error || done.signal}`,
  );
}

function prepareForReadOnly(root) {
  for (const dir of folders) mkdirSync(join(root, dir), { recursive: true });
  // RunPodSandbox copies both into the pod and fails without them.
  writeFileSync(join(root, 'etc/hosts'), '127.0.0.1 localhost\n');
  rmSync(join(root, 'etc/resolv.conf'), { force: true });
  writeFileSync(join(root, 'etc/resolv.conf'), '');
}

/** Renames the finished folder. When another process was first, its result is as good. */
function publish(building, root) {
  try {
    renameSync(building, root);
  } catch (error) {
    if (!existsSync(root)) throw error;
  }
}

/** A build that was killed leaves its folder behind; the name tells whose it was. */
function removeAbandonedBuilds(dir) {
  for (const name of readdirSync(dir)) {
    const pid = /\.building-(\d+)$/.exec(name)?.[1];
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) rmSync(join(dir, name), { recursive: true, force: true });
  }
}

/** Package versions in a root, by package name. */
export function readPackageVersions(root) {
  const status = readFileSync(join(root, 'var/lib/dpkg/status'), 'utf8');
  const versions = {};
  for (const stanza of status.split('\n\n')) {
    const name = /^Package: (.*)$/m.exec(stanza)?.[1];
    if (packages.includes(name)) versions[name] = /^Version: (.*)$/m.exec(stanza)?.[1];
  }
  return versions;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  try {
    console.log(ensureRoot(process.argv[2] ?? 'trixie', { log: (line) => console.error(line) }));
  } catch (error) {
    console.error(`no Debian root: ${error.message}`);
    process.exitCode = 1;
  }
}
