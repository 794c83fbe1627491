// Runs steps, several at once where they are light, and goes on after one that failed.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../shared/errors.mjs';
import { judgeBlocked, judgeStep, judgeStopped } from './judge-step.mjs';
import { readResults, resultsVariable } from './results.mjs';

/** @import { StepResult } from './judge-step.mjs' */
/** @import { Step } from './steps.mjs' */

/** The time to wait for output of a process that outlived the step. */
const lateOutputMs = 5_000;

/**
 * Runs steps.
 * @param {Step[]} steps see steps.mjs. A step starts when all that it needs succeeded and enough CPUs are free; one that waits for
 *   CPUs is not overtaken
 * @param {object} options
 * @param {string} options.root where commands run
 * @param {string} options.folder for results; the caller removes it
 * @param {number} options.cpus
 * @param {boolean} options.isCi
 * @param {AbortSignal} options.signal ends everything; what has not run then counts as failed
 * @param {(text: string) => void} options.print
 * @returns {Promise<StepResult[]>} in the order of the steps; a step that runs others gives theirs
 */
export async function runSteps(steps, { root, folder, cpus, isCi, signal, print }) {
  /** @type {Map<string, StepResult[]>} */
  const done = new Map();
  /** @type {Map<Step, Promise<void>>} */
  const running = new Map();
  let waiting = [...steps];

  while (waiting.length > 0 || running.size > 0) {
    startReadySteps();
    if (running.size > 0) await Promise.race(running.values());
  }
  return steps.flatMap(({ name }) => done.get(name) ?? []);

  /** Starts the steps that have all they need and a free CPU. */
  function startReadySteps() {
    for (const step of waiting) {
      const needs = (step.needs ?? []).map((name) => done.get(name)?.at(-1));
      const failed = needs.find((need) => need !== undefined && need.outcome !== 'ok');
      if (failed !== undefined || signal.aborted) {
        waiting = waiting.filter((each) => each !== step);
        const result = failed === undefined ? judgeStopped(step, signal.reason) : judgeBlocked(step, failed);
        print(`\n=== ${result.outcome}: ${step.name}\n`);
        done.set(step.name, [result]);
        startReadySteps(); // for the steps that need this one
        return;
      }
      if (needs.includes(undefined)) continue;
      const free = cpus - [...running.keys()].reduce((sum, each) => sum + cpusOf(each), 0);
      if (cpusOf(step) > free) return;
      waiting = waiting.filter((each) => each !== step);
      const run = runOne(step).then((results) => {
        running.delete(step);
        done.set(step.name, results);
      });
      running.set(step, run);
    }
  }

  /** @param {Step} step */
  function cpusOf({ light = false }) {
    return light ? 1 : cpus;
  }

  /** @param {Step} step */
  async function runOne(step) {
    const { name, counts, limitMinutes = 15, graceSeconds = 20, light = false } = step;
    const from = performance.now();
    const file = join(folder, `${name.replace(/\W+/g, '-')}.json`);
    const [command, ...args] = typeof step.command === 'function' ? step.command(file) : step.command;
    print(`\n=== ${name}\n`);
    const child = spawn(command, args, {
      cwd: root,
      env: { ...process.env, ...step.env, [resultsVariable]: counts === 'jest' ? '' : file },
      stdio: light ? ['ignore', 'pipe', 'pipe'] : ['ignore', 'inherit', 'inherit'],
      detached: true, // a group of its own: it is ended with all that it started
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (text) => (output += String(text)));
    const { status, trouble } = await end(child, { limitMinutes, graceSeconds, signal });
    const seconds = (performance.now() - from) / 1000;
    const results = readResults(file);
    const result = judgeStep(step, { trouble, status, results, seconds, isCi, root });
    print(
      `${output}=== ${result.outcome}, ${seconds.toFixed(1)} s: ${name}${trouble === undefined ? '' : ` (${trouble})`}\n`,
    );
    return results?.steps === undefined ? [result] : includeSteps(results.steps, result);
  }
}

/**
 * The steps of a step, and its own failures beyond theirs.
 * @param {StepResult[]} steps
 * @param {StepResult} result
 * @returns {StepResult[]}
 */
function includeSteps(steps, result) {
  const failed = result.failed - steps.reduce((sum, step) => sum + step.failed, 0);
  if (result.outcome === 'ok' || failed === 0) return [...steps, { ...result, ...nothing, outcome: result.outcome }];
  return [...steps, { ...result, ...nothing, failed, problems: result.problems.slice(-failed) }];
}
const nothing = { passed: 0, failed: 0, problems: [], notRun: [] };

/**
 * Waits for the end of a step, and ends it at its limit of time.
 * @param {import('node:child_process').ChildProcess} child
 * @param {{ limitMinutes: number, graceSeconds: number, signal: AbortSignal }} options
 * @returns {Promise<{ status?: number, trouble?: string }>} trouble: why it ended, absent for a status of 0
 */
async function end(child, { limitMinutes, graceSeconds, signal }) {
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
      return process.kill(-Number(child.pid), signalName);
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
  const timer = setTimeout(() => stop(`not done after ${limitMinutes} minutes`), limitMinutes * 60_000);
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
    clearTimeout(timer);
    clearTimeout(killTimer);
    signal.removeEventListener('abort', onAbort);
  }
}
