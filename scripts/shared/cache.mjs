// The folder for everything that is built once. It lies outside the repository.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { holdLock } from './hold-lock.mjs';

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
 * The size of the cache.
 * @param {NodeJS.ProcessEnv} env
 * @returns {number} in MiB; 0 when there is none
 */
function measureCache(env = process.env) {
  const { stdout } = spawnSync('du', ['-sxm', cacheDir(env)], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return Number.parseInt(stdout, 10) || 0;
}

/**
 * A line that says what stays on the machine, and how to remove it.
 * @param {NodeJS.ProcessEnv} env
 * @returns {string | undefined} undefined when nothing does
 */
export function describeCache(env = process.env) {
  const [dir, mebibytes] = [cacheDir(env), measureCache(env)];
  return mebibytes > 0 ? `Kept for the next time: ${dir} (${mebibytes} MiB). To remove it: rm -rf ${dir}` : undefined;
}

/**
 * The name of a folder in the cache: it has a hash of everything that the folder is made from, so that a change of any
 * of it makes another folder. Older ones are left aside.
 * @param {string} name
 * @param {unknown} madeFrom as JSON
 * @returns {string}
 */
export const nameByContent = (name, madeFrom) =>
  `${name}-${createHash('sha256').update(JSON.stringify(madeFrom)).digest('hex').slice(0, 12)}`;

/**
 * Gives the path of a finished file or folder, building it when it is not there yet. It appears under its name only
 * when it is complete. One process builds it, others wait for that one (`holdLock`).
 * @param {string} path its name says what it is made from: see `nameByContent`
 * @param {(building: string) => void} build makes it under the temporary path that it is given
 * @param {{ log?: Log }} [options] log: gets a line while another process builds
 * @returns {string} `path`
 */
export function buildOnce(path, build, options) {
  if (existsSync(path)) return path;
  const { building, end } = beginBuild(path, options);
  try {
    if (existsSync(path)) return path; // another process has built it meanwhile
    build(building);
    publish(building, path);
  } finally {
    end();
  }
  return path;
}

/**
 * `buildOnce` for what takes asynchronous work.
 * @param {string} path
 * @param {(building: string) => Promise<void>} build
 * @param {{ log?: Log }} [options]
 * @returns {Promise<string>} `path`
 */
export async function buildOnceAsync(path, build, options) {
  if (existsSync(path)) return path;
  const { building, end } = beginBuild(path, options);
  try {
    if (existsSync(path)) return path;
    await build(building);
    publish(building, path);
  } finally {
    end();
  }
  return path;
}

/**
 * Takes the lock of a build, and removes what builds in the same folder left that were killed: their names end with
 * `.building-` and the pid of a process that is gone.
 * @param {string} path
 * @param {{ log?: Log } | undefined} options
 * @returns the temporary path of a new build, and what to call at its end
 */
function beginBuild(path, options) {
  const dir = dirname(path);
  const release = holdLock(`${path}.lock`, basename(path), options);
  for (const name of readdirSync(dir)) {
    const pid = /\.building-(\d+)\b/.exec(name)?.[1];
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) rmSync(join(dir, name), { recursive: true, force: true });
  }
  const building = join(dir, `${basename(path)}.building-${process.pid}`);
  const end = () => {
    rmSync(building, { recursive: true, force: true });
    release();
  };
  return { building, end };
}

/** @param {string} building @param {string} path */
function publish(building, path) {
  try {
    renameSync(building, path);
  } catch (error) {
    if (!existsSync(path)) throw error; // else another process was first
  }
}
