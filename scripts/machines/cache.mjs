// What is built once and kept, outside the repository: each thing appears under its name only when it is complete.
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { cacheDir } from '../runtime/debian-root.mjs';

/** The folder for everything that machines need. */
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
  removeAbandoned(dir);
  const building = `${path}.building-${process.pid}`;
  try {
    await build(building);
    if (!existsSync(path)) renameSync(building, path);
  } finally {
    rmSync(building, { recursive: true, force: true });
  }
  return path;
}

/** A build that was killed leaves its folder behind; the name tells whose it was. */
function removeAbandoned(dir) {
  for (const name of readdirSync(dir)) {
    const pid = /\.building-(\d+)$/.exec(name)?.[1];
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) rmSync(join(dir, name), { recursive: true, force: true });
  }
}
