// The folder for everything that is built once. It lies outside the repository.
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

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
 * Removes the folders of builds that were killed: their names end with `.building-` and the pid of a process that is gone.
 * @param {string} dir
 * @returns {void}
 */
export function removeAbandonedBuilds(dir) {
  for (const name of readdirSync(dir)) {
    const pid = /\.building-(\d+)$/.exec(name)?.[1];
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) rmSync(join(dir, name), { recursive: true, force: true });
  }
}
