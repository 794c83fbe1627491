// Runs one step: its output goes to a file, and it is ended when it makes no progress.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism, loadavg } from 'node:os';
import { closeSync, existsSync, openSync, readFileSync, statSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../shared/errors.mjs';
import { watchProgress } from '../shared/progress.mjs';
import { jestResultsVariable } from './jest-reporter.mjs';
import { resultsVariable } from './results.mjs';

/** @import { Step } from './steps.mjs' */
/**
 * @typedef {object} StepEnd
 * @property {number} [status] the exit status
 * @property {string} [trouble] the reason of its end, absent for a status of 0
 * @property {number} seconds by the clock
 */

/** The time to wait for output of a process that outlived the step. */
const lateOutputMs = 5_000;
/** A step is ended after so many minutes without output, without a part that ended, and without work. */
const defaultQuietMinutes = 10;

/**
 * Runs a step to its end.
 * @param {Step} step
 * @param {object} options
 * @param {string} options.root the folder in which it runs
 * @param {string} options.results the file for its results
 * @param {string} options.log the file for its output
 * @param {AbortSignal} options.signal ends it
 * @returns {Promise<StepEnd>}
 */
export async function runStep(step, { root, results, log, signal }) {
  const { counts, quietMinutes = defaultQuietMinutes, graceSeconds = 20, printsItself = false } = step;
  const from = performance.now();
  const seconds = () => (performance.now() - from) / 1000;
  const [command, ...args] = step.command;
  const output = openSync(log, 'w');
  const variable = counts === 'jest' ? jestResultsVariable : resultsVariable;
  const child = spawn(command, args, {
    cwd: root,
    env: { ...process.env, ...step.env, [resultsVariable]: '', [variable]: results },
    stdio: ['ignore', printsItself ? 'inherit' : output, output],
    detached: true, // a group of its own: it is ended with all that it started
  });
  closeSync(output);
  const end = await waitForEnd(child, { quietMinutes, graceSeconds, signal, files: [log, results] });
  return { ...end, seconds: seconds() };
}

/**
 * The end of the output of a step.
 * @param {string} log
 * @param {number} count the number of lines at most
 * @returns {string[]}
 */
export function readLastLines(log, count) {
  if (!existsSync(log)) return [];
  return readFileSync(log, 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .slice(-count);
}

/**
 * A note for a step that was ended, on a machine with more work than CPUs.
 * @param {number} load the mean number of programs that wanted a CPU in the last 15 minutes
 * @param {number} cpus
 * @returns {string} empty on another machine
 */
export const describeBusy = (load = loadavg()[2] ?? 0, cpus = availableParallelism()) =>
  load > cpus
    ? `; this machine is too slow or busy: load ${load.toFixed(1)} on ${cpus} CPU${cpus === 1 ? '' : 's'}`
    : '';

/**
 * Waits for the end of a step, and ends it when it makes no progress.
 * @param {import('node:child_process').ChildProcess} child
 * @param {{ quietMinutes: number, graceSeconds: number, signal: AbortSignal, files: string[] }} options
 * @returns {Promise<Omit<StepEnd, 'seconds'>>}
 */
async function waitForEnd(child, { quietMinutes, graceSeconds, signal, files }) {
  const group = Number(child.pid);
  /** @type {string | undefined} */
  let why;
  /** @type {NodeJS.Timeout | undefined} */
  let killTimer;
  /**
   * @param {NodeJS.Signals | 0} signalName
   * @returns {boolean} true when a process of the group was left
   */
  const kill = (signalName) => {
    try {
      return process.kill(-group, signalName);
    } catch {
      return false;
    }
  };
  /** @param {string} reason */
  const stop = (reason) => {
    if (why !== undefined) return;
    why = reason;
    kill('SIGTERM');
    killTimer = setTimeout(() => kill('SIGKILL'), graceSeconds * 1000);
  };
  const onAbort = () => stop(String(signal.reason));
  const watch = watchStep(quietMinutes * 60_000, files, group, () =>
    stop(`no progress for ${quietMinutes} minutes: no output, no result and no work${describeBusy()}`),
  );
  signal.addEventListener('abort', onAbort);
  if (signal.aborted) onAbort();
  try {
    const closed = once(child, 'close');
    closed.catch(() => {});
    const [status, signalName] = await once(child, 'exit');
    await Promise.race([closed, delay(lateOutputMs, undefined, { ref: false })]);
    if (why !== undefined) {
      // The first process of npm does not wait for the others.
      const deadline = performance.now() + graceSeconds * 1000 + lateOutputMs;
      while (kill(0) && performance.now() < deadline) await delay(20);
      return { trouble: why };
    }
    if (status === null) return { trouble: `ended by ${signalName}` };
    return { status, ...(status !== 0 && { trouble: `exit status ${status}` }) };
  } catch (error) {
    return { trouble: messageOf(error) };
  } finally {
    clearInterval(watch);
    clearTimeout(killTimer);
    signal.removeEventListener('abort', onAbort);
  }
}

/**
 * Calls back when nothing was written to the files and the processes did not work for some time.
 * @param {number} limitMs Infinity for a step that runs steps, which have limits of their own
 * @param {string[]} files
 * @param {number} leader the first process
 * @param {() => void} onQuiet
 * @returns {NodeJS.Timeout | undefined} the timer, to be cleared
 */
function watchStep(limitMs, files, leader, onQuiet) {
  if (limitMs === Infinity) return undefined;
  const everyMs = limitMs / 20;
  const progress = watchProgress(leader, { limitMs, everyMs });
  const readSizes = () => files.map((file) => (existsSync(file) ? statSync(file).size : 0)).join();
  let sizes = readSizes();
  return setInterval(() => {
    const now = readSizes();
    if (now !== sizes) progress.noteOutput();
    sizes = now;
    if (progress.look() >= limitMs) onQuiet();
  }, everyMs);
}
