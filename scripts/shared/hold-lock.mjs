// A lock between processes that build the same thing. It ends with the process that holds it, however that ends.
import { spawnSync } from 'node:child_process';
import { closeSync, ftruncateSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { performance } from 'node:perf_hooks';
import { beatMs } from './heartbeat.mjs';
import { logToStderr } from './log.mjs';
import { periodOfLooks, stillLimitMs, watchProgress } from './progress.mjs';

/** @import { Log } from './log.mjs' */

/** The exit status of `flock` when another has the lock. */
const statusHeld = 1;

/**
 * Takes the lock, and waits for it as long as its holder makes progress, with a line each half minute. When the holder
 * dies, the lock is ours. Without the `flock` command there is no lock: two builds are then both done, and the first
 * result is taken.
 * @param {string} path the file of the lock, which stays
 * @param {string} what is made under it, for messages
 * @param {{ log?: Log, limitMs?: number }} [options] limitMs: of a holder without progress
 * @returns {() => void} releases it
 * @throws {Error} when the holder makes no progress
 */
export function holdLock(path, what, { log = logToStderr, limitMs = stillLimitMs() } = {}) {
  mkdirSync(dirname(path), { recursive: true });
  const fd = openSync(path, 'a+');
  try {
    if (!tryLock(fd, ['--nonblock'])) waitForHolder(fd, path, what, { log, limitMs });
    ftruncateSync(fd);
    writeSync(fd, JSON.stringify({ pid: process.pid, since: new Date().toISOString() }));
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  return () => closeSync(fd);
}

/**
 * Locks the open file: the `flock` command shares it with us, and its lock stays until we close the file or die.
 * @param {number} fd
 * @param {string[]} options
 */
function tryLock(fd, options) {
  const { status, error } = spawnSync('flock', [...options, '3'], { stdio: ['ignore', 'ignore', 'inherit', fd] });
  return error !== undefined || (status !== null && status !== statusHeld);
}

/** @param {number} fd @param {string} path @param {string} what @param {{ log: Log, limitMs: number }} options */
function waitForHolder(fd, path, what, { log, limitMs }) {
  const everyMs = periodOfLooks(limitMs);
  let holder = readHolder(path);
  let progress = watchProgress(holder.pid, { limitMs, everyMs });
  let beatAtMs = -Infinity;
  for (let stillMs = 0; !tryLock(fd, ['--timeout', String(everyMs / 1000)]); stillMs = progress.look()) {
    const now = readHolder(path);
    if (now.pid !== holder.pid) {
      holder = now;
      progress = watchProgress(holder.pid, { limitMs, everyMs });
    }
    const who = holder.pid === 0 ? 'another process' : `process ${holder.pid} (since ${holder.since})`;
    if (stillMs >= limitMs)
      throw new Error(
        `${what}: ${who} has it and made no progress for ${limitMs / 1000} s: end it, and run this again`,
      );
    if (performance.now() - beatAtMs < beatMs) continue;
    beatAtMs = performance.now();
    log(`${what}: waiting for ${who}, which makes it; its last progress was ${Math.round(stillMs / 1000)} s ago`);
  }
}

/** @param {string} path */
function readHolder(path) {
  const [, pid = '0', since = 'a moment'] = /"pid":(\d+),"since":"([^"]*)"/.exec(readFileSync(path, 'utf8')) ?? [];
  return { pid: Number(pid), since };
}
