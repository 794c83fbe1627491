// Runs steps, as many at once as there is room for, and goes on after one that failed.
import { join } from 'node:path';
import { beatMs } from '../shared/heartbeat.mjs';
import { readProcessStat } from '../shared/process-stat.mjs';
import { chooseSteps } from './choose-steps.mjs';
import { formatDetails, formatEnd, formatNow, formatStart } from './lines.mjs';
import { judgeBlocked, judgeStep, judgeStopped } from './judge-step.mjs';
import { readResults } from './results.mjs';
import { readLastLines, runStep } from './run-step.mjs';

/** @import { Room } from './choose-steps.mjs' */
/** @import { StepResult } from './judge-step.mjs' */
/** @import { Step } from './steps.mjs' */

/** The lines of the log that stand for a failure that has no text of its own. */
const logLines = 60;

const readChildCpuSeconds = () => readProcessStat('self')?.childCpuSeconds ?? 0;

/**
 * Runs steps.
 * @param {Step[]} steps see steps.mjs. A step starts when all that it needs succeeded and there is room
 * @param {object} options
 * @param {string} options.root where commands run
 * @param {string} options.folder for results; the caller removes it
 * @param {string} options.logs the folder for the output of steps
 * @param {Room} options.machine
 * @param {boolean} options.isCi
 * @param {AbortSignal} options.signal ends everything; what has not run then counts as failed
 * @param {(line: string) => void} options.print
 * @param {(result: StepResult) => void} [options.onEnd] a step has ended
 * @returns {Promise<StepResult[]>} in the order of the steps; a step that runs others gives theirs
 */
export async function runSteps(steps, { root, folder, logs, machine, isCi, signal, print, onEnd = () => {} }) {
  /** @type {Map<string, StepResult[]>} */
  const done = new Map();
  /** @type {Map<Step, Promise<void>>} */
  const running = new Map();
  let waiting = [...steps];
  let seenCpuSeconds = readChildCpuSeconds();

  const heartbeat = setInterval(printHeartbeat, beatMs);
  try {
    while (waiting.length > 0 || running.size > 0) {
      giveUpSteps();
      startSteps();
      if (running.size > 0) await Promise.race(running.values());
    }
  } finally {
    clearInterval(heartbeat);
  }
  return steps.flatMap(({ name }) => done.get(name) ?? []);

  /** Ends the wait of steps that can't run: after an interruption, or since one that they need did not succeed. */
  function giveUpSteps() {
    for (const step of waiting) {
      const needs = (step.needs ?? []).map((name) => done.get(name)?.at(-1));
      const failed = needs.find((need) => need !== undefined && need.outcome !== 'done');
      if (failed === undefined && !signal.aborted) continue;
      const result = failed === undefined ? judgeStopped(step, signal.reason) : judgeBlocked(step, failed);
      waiting = waiting.filter((each) => each !== step);
      print(formatEnd(result));
      end(step, [result]);
      return giveUpSteps(); // for the steps that need this one
    }
  }

  function startSteps() {
    const succeeded = new Set(
      [...done].filter(([, results]) => results.at(-1)?.outcome === 'done').map(([name]) => name),
    );
    for (const step of chooseSteps(waiting, [...running.keys()], succeeded, machine)) {
      waiting = waiting.filter((each) => each !== step);
      running.set(
        step,
        runOne(step).then((results) => {
          running.delete(step);
          end(step, results);
        }),
      );
    }
  }

  /** @param {Step} step @param {StepResult[]} results */
  function end(step, results) {
    done.set(step.name, results);
    for (const result of results) onEnd(result);
  }

  /** @param {Step} step */
  async function runOne(step) {
    print(formatStart(step.name));
    const results = fileOf(step, folder, 'jsonl');
    const log = fileOf(step, logs, 'log');
    const { seconds, ...ended } = await runStep(step, { root, results, log, signal });
    // The time of a process is added to ours when it has ended: the difference is of the step that has just ended.
    const cpuSeconds = readChildCpuSeconds() - seenCpuSeconds;
    seenCpuSeconds += cpuSeconds;
    const found = readResults(results);
    const result = { ...judgeStep(step, { ...ended, results: found, seconds, isCi }), cpuSeconds, log };
    print(formatEnd(result));
    if (result.outcome === 'failed' && !step.printsItself)
      for (const line of formatDetails({
        details: found?.details || readLastLines(log, logLines).join('\n'),
        rest: found?.rest ?? [],
        log,
      }))
        print(line);
    return found === undefined || found.steps.length === 0 ? [result] : includeSteps(found.steps, result);
  }

  function printHeartbeat() {
    const shown = [...running.keys()].filter(({ printsItself }) => !printsItself);
    if (shown.length === 0) return;
    const states = shown.map((step) => ({
      name: step.name,
      results: readResults(fileOf(step, folder, 'jsonl')),
      lastLine: readLastLines(fileOf(step, logs, 'log'), 1)[0],
    }));
    print(formatNow(states, { ended: done.size, steps: steps.length }));
  }
}

/** @param {Step} step @param {string} folder @param {string} ending */
const fileOf = ({ name }, folder, ending) => join(folder, `${name.replace(/\W+/g, '-')}.${ending}`);

/**
 * The steps of a step, and its own failures beyond theirs.
 * @param {StepResult[]} steps
 * @param {StepResult} result
 * @returns {StepResult[]}
 */
function includeSteps(steps, result) {
  const failed = result.failed - steps.reduce((sum, step) => sum + step.failed, 0);
  const { cpuSeconds: _theirs, ...own } = result;
  const nothing = { passed: 0, failed: 0, problems: [], notRun: [] };
  if (own.outcome === 'done' || failed <= 0) return [...steps, { ...own, ...nothing }];
  return [...steps, { ...own, ...nothing, failed, problems: own.problems.slice(-failed) }];
}
