// The folder for everything that is built once. It lies outside the repository.
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';

/** @import { Log } from './log.mjs' */

/** @typedef {{ env?: NodeJS.ProcessEnv, log?: Log }} EnsureOptions */

/**
 * The folder of the cache: $CPUSETD_CACHE, by default ~/.cache/cpusetd.
 * @param {NodeJS.ProcessEnv} env
 * @returns {string}
 */
export const cacheDir = (env = process.env) =>
  env.CPUSETD_CACHE || join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'cpusetd');

/**
 * Gives the path of a finished file or folder, building it when it is not there yet. It appears under its name only when it is
 * complete. When two processes build it at once, the result of the first is taken.
 * @param {string} path its name carries the number of its recipe: raise that when the contents change
 * @param {(building: string) => void} build makes it under the temporary path that it is given
 * @returns {string} `path`
 */
export function buildOnce(path, build) {
  if (existsSync(path)) return path;
  const building = beginBuild(path);
  try {
    build(building);
    publish(building, path);
  } finally {
    rmSync(building, { recursive: true, force: true });
  }
  return path;
}

/**
 * `buildOnce` for what takes asynchronous work.
 * @param {string} path
 * @param {(building: string) => Promise<void>} build
 * @returns {Promise<string>} `path`
 */
export async function buildOnceAsync(path, build) {
  if (existsSync(path)) return path;
  const building = beginBuild(path);
  try {
    await build(building);
    publish(building, path);
  } finally {
    rmSync(building, { recursive: true, force: true });
  }
  return path;
}

/**
 * Removes what builds in the same folder left that were killed: its names end with `.building-` and the pid of a process that is gone.
 * @param {string} path
 * @returns {string} the temporary path of a new build
 */
function beginBuild(path) {
  const dir = dirname(path);
  mkdirSync(dir, { recursive: true });
  for (const name of readdirSync(dir)) {
    const pid = /\.building-(\d+)\b/.exec(name)?.[1];
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) rmSync(join(dir, name), { recursive: true, force: true });
  }
  return join(dir, `${basename(path)}.building-${process.pid}`);
}

/** @param {string} building @param {string} path */
function publish(building, path) {
  try {
    renameSync(building, path);
  } catch (error) {
    if (!existsSync(path)) throw error; // else another process was first
  }
}
