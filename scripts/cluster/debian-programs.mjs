// The programs that Debian packs, unpacked once into the cache: etcd, Prometheus and its promtool.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { cacheDir } from '../shared/cache.mjs';
import { ensurePackages } from '../shared/debian.mjs';

/** @import { EnsureOptions } from '../shared/cache.mjs' */

/** The number of the recipe. Raise it when the packages change: older folders are then left aside. */
const recipe = 2;
const packages = ['etcd-server', 'prometheus'];

/**
 * Gives the programs, and fetches them when the cache has none (about half a minute).
 * @param {EnsureOptions} options
 * @returns {{ etcd: string, prometheus: string, promtool: string, versions: Record<string, string> }} their paths;
 * versions: by program
 * @throws {Error} with the reason for the operator when they can't be had
 */
export function ensureDebianPrograms({ env = process.env, log = () => {} } = {}) {
  const path = join(cacheDir(env), `cluster-debian-${recipe}`);
  const root = ensurePackages(path, { suite: 'sid', packages, variant: 'extract' }, log);
  const programs = { etcd: join(root, 'usr/bin/etcd'), prometheus: join(root, 'usr/bin/prometheus') };
  return {
    ...programs,
    promtool: join(root, 'usr/bin/promtool'),
    versions: Object.fromEntries(Object.entries(programs).map(([name, path]) => [name, readVersion(path)])),
  };
}

/** @param {string} program */
function readVersion(program) {
  const printed = execFileSync(program, ['--version'], { encoding: 'utf8' });
  return /version:? (\S+)/i.exec(printed)?.[1] ?? 'unknown';
}
