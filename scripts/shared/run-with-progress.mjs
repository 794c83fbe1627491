// Runs a command for as long as it makes progress, however slow the machine is. After some minutes without any it is
// ended, with all that it started. Run as a program, it is the other half of `runWithProgressSync`.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { performance } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { messageOf } from './errors.mjs';
import { beatMs } from './heartbeat.mjs';
import { isMain } from './is-main.mjs';
import { logToStderr } from './log.mjs';
import { periodOfLooks, stillLimitMs, watchProgress } from './progress.mjs';

/**
 * @typedef {object} Options
 * @property {string} what is made, for messages: `the Go modules of helm`
 * @property {string} [remedy] the end of a message, by default to run it again
 * @property {string} [cwd]
 * @property {NodeJS.ProcessEnv} [env]
 * @property {boolean} [echo] passes the command's output on to standard error
 * @property {number} [limitMs] without progress
 * @property {number} [caller] the parent without which the command is ended
 */
/** @typedef {(line: string) => void} OnLine gets each line of standard error */
/**
 * @typedef {{ status: number, stdout: string, stderr: string }} Ended of a command that ended by itself; the last part
 * of what it printed
 */

const graceMs = 10_000;
const keptCharacters = 4_000_000;
const signals = /** @type {const} */ (['SIGTERM', 'SIGINT', 'SIGHUP']);

/** The command was ended by a signal that was not for its lack of progress. */
export class EndedFromOutside extends Error {}

/**
 * Runs a command in a process group of its own. A signal to this process is passed on to the group.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {Options & { onLine?: OnLine, describe?: () => string }} options describe: how far it is, for a line each half
 * minute
 * @returns {Promise<Ended>}
 * @throws {EndedFromOutside}
 * @throws {Error} when it made no progress, or could not be started
 */
export async function runWithProgress(command, args, options) {
  const { what, remedy = 'run it again', cwd, env, echo = false, onLine, caller, limitMs = stillLimitMs() } = options;
  /** @type {string | undefined} */
  let why;
  const over = new AbortController();
  /** @param {string} reason @param {NodeJS.Signals} signal */
  const end = (reason, signal) => {
    if (why !== undefined) return;
    why = reason;
    killGroup(child, signal);
    const kill = () => killGroup(child, 'SIGKILL');
    delay(graceMs, undefined, { signal: over.signal }).then(kill, () => {});
  };
  const passOn = (/** @type {NodeJS.Signals} */ signal) => end(`was ended from outside by ${signal}`, signal);
  for (const signal of signals) process.on(signal, passOn);
  const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const closed = once(child, 'close');
  closed.catch(() => {});
  const everyMs = periodOfLooks(limitMs);
  const progress = watchProgress(child.pid ?? 0, { limitMs, everyMs });
  const output = { stdout: '', stderr: '', last: '' };
  for (const name of /** @type {const} */ (['stdout', 'stderr'])) {
    child[name].setEncoding('utf8').on('data', (text) => {
      progress.noteOutput();
      output[name] = (output[name] + String(text)).slice(-keptCharacters);
      if (echo) process.stderr.write(text);
    });
    createInterface(child[name]).on('line', (line) => {
      if (line.trim() !== '') output.last = line.trim();
      if (name === 'stderr') onLine?.(line);
    });
  }

  const startedMs = performance.now();
  let beatAtMs = startedMs;
  const timer = setInterval(() => {
    const nowMs = performance.now();
    if (progress.look() >= limitMs) end(describeStillness(limitMs), 'SIGTERM');
    else if (caller !== undefined && process.ppid !== caller)
      end('was ended from outside: its caller is gone', 'SIGTERM');
    if (nowMs - beatAtMs < beatMs) return;
    beatAtMs = nowMs;
    const how = options.describe?.() || output.last || 'at work';
    logToStderr(`${what}: ${how.slice(0, 200)} (${Math.round((nowMs - startedMs) / 1000)} s)`);
  }, everyMs);
  try {
    const [status, signal] = await closed;
    if (why === undefined && status !== null) return { status, stdout: output.stdout, stderr: output.stderr };
    killGroup(child, 'SIGKILL'); // what its first process left
    const reason = why ?? `was ended from outside by ${signal}`;
    const last = output.last === '' ? '' : `; its last line: ${output.last}`;
    const message = `${what}: ${[command, ...args].join(' ').slice(0, 300)} ${reason}${last}; ${remedy}`;
    throw reason.startsWith('was ended') ? new EndedFromOutside(message) : new Error(message);
  } finally {
    clearInterval(timer);
    over.abort();
    for (const signal of signals) process.off(signal, passOn);
  }
}

/** @param {number} limitMs */
const describeStillness = (limitMs) =>
  `made no progress for ${limitMs / 1000} s (no output, no CPU time, nothing read or written) and was ended`;

/** @param {import('node:child_process').ChildProcess} child @param {NodeJS.Signals} signal */
function killGroup(child, signal) {
  try {
    process.kill(-Number(child.pid), signal);
  } catch {
    // All of it has ended.
  }
}

/**
 * The same for callers that cannot wait in another way. Standard error has a line each half minute.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {Options} options
 * @returns {Ended}
 * @throws {EndedFromOutside}
 * @throws {Error} when it made no progress, or could not be started
 */
export function runWithProgressSync(command, args, { env = process.env, ...options }) {
  const here = /** @type {string | undefined} */ (import.meta.url);
  if (here === undefined) return runUnwatched(command, args, { env, ...options });
  const request = JSON.stringify([command, args, { ...options, caller: process.pid }]);
  const run = spawnSync(process.execPath, [fileURLToPath(here), request], {
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 1 << 30,
  });
  if (run.stdout === '' || run.stdout === null)
    throw new EndedFromOutside(`${options.what} was ended from outside by ${run.signal ?? run.error?.message}`);
  const { ended, outside, message } = JSON.parse(run.stdout);
  if (ended !== undefined) return ended;
  throw outside ? new EndedFromOutside(message) : new Error(message);
}

/**
 * Runs a command from a bundle, which has no file that could be run as the other half.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {Options} options
 * @returns {Ended}
 */
function runUnwatched(command, args, { what, cwd, env }) {
  const { status, stdout, stderr, signal, error } = spawnSync(command, args, { cwd, env, encoding: 'utf8' });
  if (status === null)
    throw new EndedFromOutside(`${what}: ${error?.message ?? `was ended from outside by ${signal}`}`);
  return { status, stdout, stderr };
}

/** Runs the command that the first argument describes, and prints what became of it as JSON. */
async function runForCaller() {
  process.stdout.on('error', () => {}); // the caller may be gone
  try {
    const [command, args, options] = JSON.parse(process.argv[2] ?? '');
    process.stdout.write(JSON.stringify({ ended: await runWithProgress(command, args, options) }));
  } catch (error) {
    const outside = error instanceof EndedFromOutside;
    if (outside) logToStderr(messageOf(error));
    process.stdout.write(JSON.stringify({ outside, message: messageOf(error) }));
  }
}

if (isMain(import.meta.url)) void runForCaller();
