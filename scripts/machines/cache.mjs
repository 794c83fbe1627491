// The cache of machines: each thing is built once, and appears under its name only when it is complete.
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { cacheDir, removeAbandonedBuilds } from '../shared/cache.mjs';

/**
 * The folder for everything that machines need.
 * @param {NodeJS.ProcessEnv} env
 * @returns {string}
 */
export const machinesCache = (env = process.env) => join(cacheDir(env), 'machines');

/**
 * Gives the path of a finished thing, building it when it is not there yet.
 * @param {string} name carries its recipe's number: raise that when the contents change
 * @param {(building: string) => void | Promise<void>} build makes a file or folder under the temporary path it is given
 * @returns {Promise<string>}
 */
export async function buildOnce(name, build) {
  const dir = machinesCache();
  const path = join(dir, name);
  if (existsSync(path)) return path;
  mkdirSync(dir, { recursive: true });
  removeAbandonedBuilds(dir);
  const building = `${path}.building-${process.pid}`;
  try {
    await build(building);
    if (!existsSync(path)) renameSync(building, path);
  } finally {
    rmSync(building, { recursive: true, force: true });
  }
  return path;
}
