// A line now and then, for work that is silent for long.
import { performance } from 'node:perf_hooks';
import { logToStderr } from './log.mjs';

/** @import { Log } from './log.mjs' */

/** Silence of work up to this long needs no line, in ms. */
export const beatMs = 30_000;

/**
 * Does asynchronous work, with a line each half minute that names it and the time that it has taken.
 * @template Result
 * @param {string} what is done, for the line
 * @param {() => Promise<Result>} work
 * @param {{ log?: Log, everyMs?: number }} [options]
 * @returns {Promise<Result>} that of the work; it rejects as the work does
 */
export async function withHeartbeat(what, work, { log = logToStderr, everyMs = beatMs } = {}) {
  const startedMs = performance.now();
  const timer = setInterval(
    () => log(`${what}: at work (${Math.round((performance.now() - startedMs) / 1000)} s)`),
    everyMs,
  );
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
