// Builds, once, a Debian root folder that holds containerd, runc and what CRI-O needs beside it, and keeps it in the
// cache.
//
//   node scripts/runtime/debian-root.mjs trixie     prints the folder, or says on stderr why there is none (exit 1)
//
// Its name has a hash of what it is made from. A finished root is never changed again: a runtime that uses it mounts it
// read-only (see enter.sh).
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { cacheDir } from '../shared/cache.mjs';
import { ensurePackages, findMissingForPackages, packagesPath, readPackageVersions } from '../shared/debian.mjs';
import { messageOf } from '../shared/errors.mjs';
import { findMissingCommands, installCommands } from '../shared/host-commands.mjs';
import { isMain } from '../shared/is-main.mjs';
import { logToStderr } from '../shared/log.mjs';

/** @import { EnsureOptions } from '../shared/cache.mjs' */

const commonPackages = ['containerd', 'runc', 'busybox-static', 'ca-certificates', 'containernetworking-plugins'];
/**
 * The packages of one suite only: CRI-O starts containers with conmon, and skopeo brings an image into its storage. The
 * CNI plugins of trixie bring iptables, which maps ports of the host.
 * @type {Partial<Record<string, string[]>>}
 */
const ownPackages = { sid: ['conmon', 'skopeo', 'iptables'] };

/** Folders that enter.sh mounts something on, or that a runtime wants to find: the root will be read-only. */
const folders = [
  ...['run', 'opt', 'tmp', 'old-root', 'etc/cni/net.d'],
  ...['var/lib/containerd', 'var/lib/containers', 'var/log/pods', 'var/tmp'],
];

/** RunPodSandbox copies both into the pod and fails without them. */
const files = { 'etc/hosts': { text: '127.0.0.1 localhost\n' }, 'etc/resolv.conf': { text: '' } };

/**
 * The contents of a suite's root.
 * @param {string} suite
 * @returns {import('../shared/debian.mjs').Packages}
 */
const contentsOf = (suite) => ({
  suite,
  packages: [...commonPackages, ...(ownPackages[suite] ?? [])],
  variant: 'minbase',
  folders,
  files,
});

/** Commands of the host that are needed, and the Debian or Ubuntu package that brings each. */
const hostCommands = { unshare: 'util-linux', nsenter: 'util-linux' };

/**
 * The folder of the suite's root; it may not exist yet.
 * @param {string} suite
 * @param {NodeJS.ProcessEnv} env
 * @returns {string}
 */
export const rootDirOf = (suite, env = process.env) => packagesPath(join(cacheDir(env), suite), contentsOf(suite));

/**
 * The reason why no root can be had on this machine for certain. Quick and silent.
 * @param {string} suite
 * @param {NodeJS.ProcessEnv} env
 * @returns {string | undefined} one line for the operator; undefined when building a root is worth a try
 */
export function findMissingPrerequisite(suite, env = process.env) {
  if (process.platform !== 'linux') return 'a container runtime needs Linux';
  if (process.getuid?.() !== 0) return 'a container runtime needs root: run this as root (sudo)';
  const hasRoot = existsSync(rootDirOf(suite, env));
  return findMissingCommands(hostCommands) ?? (hasRoot ? undefined : findMissingForPackages());
}

/**
 * Gives the root folder of a Debian suite, building it when the cache has none (about half a minute).
 * @param {string} suite `trixie` (containerd 1.7) or `sid` (2.x)
 * @param {EnsureOptions} options
 * @returns {string} the folder
 * @throws {Error} with the reason for the operator when it can't be had
 */
export function ensureRoot(suite, { env = process.env, log = () => {} } = {}) {
  if (!/^[a-z]+$/.test(suite)) throw new Error(`not the name of a Debian suite: ${JSON.stringify(suite)}`);
  const missing = findMissingPrerequisite(suite, env);
  if (missing !== undefined) throw new Error(missing);
  installCommands(hostCommands, log);
  return ensurePackages(join(cacheDir(env), suite), contentsOf(suite), log);
}

/**
 * The versions of containerd and the other programs of a root.
 * @param {string} root
 * @returns {Record<string, string>} by package
 */
export const readRootVersions = (root) =>
  readPackageVersions(root, [...commonPackages, ...Object.values(ownPackages).flatMap((names) => names ?? [])]);

if (isMain(import.meta.url)) {
  try {
    console.log(ensureRoot(process.argv[2] ?? 'trixie', { log: logToStderr }));
  } catch (error) {
    console.error(`no Debian root: ${messageOf(error)}`);
    process.exitCode = 1;
  }
}
