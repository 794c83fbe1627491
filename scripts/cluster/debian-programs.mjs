// The servers that Debian packs, unpacked once into the cache: etcd.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { unpackPackages } from '../machines/debian.mjs';
import { findMissingPrerequisite, installHostPackages } from '../runtime/debian-root.mjs';
import { cacheDir, removeAbandonedBuilds } from '../shared/cache.mjs';

/** @import { EnsureOptions } from '../shared/cache.mjs' */

/** The number of the recipe. Raise it when the packages change: older folders are then left aside. */
const recipe = 1;
const suite = 'sid';
const packages = ['etcd-server'];

/** @param {NodeJS.ProcessEnv} env */
const dirOf = (env) => join(cacheDir(env), `cluster-debian-${recipe}`);

/**
 * Gives the programs, and fetches them when the cache has none (about half a minute).
 * @param {EnsureOptions} options
 * @returns {{ etcd: string, versions: Record<string, string> }} etcd: its path; versions: by program
 * @throws {Error} with the reason for the operator when they can't be had
 */
export function ensureDebianPrograms({ env = process.env, log = () => {} } = {}) {
  const root = dirOf(env);
  if (!existsSync(root)) fetchInto(root, env, log);
  const etcd = join(root, 'usr/bin/etcd');
  return { etcd, versions: { etcd: readEtcdVersion(etcd) } };
}

/** @param {string} etcd */
function readEtcdVersion(etcd) {
  const printed = execFileSync(etcd, ['--version'], { encoding: 'utf8' });
  return /^etcd Version: (.*)$/m.exec(printed)?.[1] ?? 'unknown';
}

/** @param {string} root @param {NodeJS.ProcessEnv} env @param {import('../shared/log.mjs').Log} log */
function fetchInto(root, env, log) {
  const missing = findMissingPrerequisite(suite, env);
  if (missing !== undefined) throw new Error(missing);
  installHostPackages(log);
  mkdirSync(cacheDir(env), { recursive: true });
  removeAbandonedBuilds(cacheDir(env));
  const building = `${root}.building-${process.pid}`;
  try {
    log(`fetching ${packages.join(', ')} of Debian ${suite}`);
    unpackPackages({ suite, packages, target: building, variant: 'extract' });
    renameSync(building, root);
  } catch (error) {
    if (!existsSync(root)) throw error; // another process was first
  } finally {
    rmSync(building, { recursive: true, force: true });
  }
}
