// The result of a step.

/** @import { NotRun, Progress } from './results.mjs' */
/** @typedef {Pick<import('./steps.mjs').Step, 'name' | 'counts'>} Judged */

import { statusNotRun } from './results.mjs';

/**
 * @typedef {object} StepResult
 * @property {string} name
 * @property {'done' | 'failed' | 'not run'} outcome
 * @property {number} seconds by the clock
 * @property {number} [cpuSeconds] of its processes
 * @property {string} [log] the file with its output
 * @property {number} passed
 * @property {number} failed never 0 when the outcome is `failed`
 * @property {string[]} problems a line each, for people
 * @property {NotRun[]} notRun
 */

/**
 * Judges a step that has ended.
 * @param {Judged} step
 * @param {object} end
 * @param {string | undefined} [end.trouble] why it ended, absent for a status of 0: see run-step.mjs
 * @param {number | undefined} [end.status] its exit status
 * @param {Progress | undefined} [end.results] what it wrote
 * @param {number} end.seconds
 * @param {boolean} end.isCi
 * @returns {StepResult}
 */
export function judgeStep({ name, counts }, { trouble, status, results, seconds, isCi }) {
  const found = results ?? { passed: 0, failed: 0, problems: [], notRun: [], rest: [] };
  const isMissing = status === statusNotRun && found.failed === 0 && found.passed === 0 && found.notRun.length > 0;
  if (isMissing && !isCi)
    return { name, outcome: 'not run', seconds, passed: 0, failed: 0, problems: [], notRun: found.notRun };

  const problems = [...found.problems];
  let { failed, passed } = found;
  /** @param {string} problem */
  const fail = (problem) => {
    failed++;
    problems.push(problem);
  };
  if (isMissing) for (const { what, why } of found.notRun) fail(`${what}: ${why}`);
  else if (counts !== undefined && counts !== 'itself' && results === undefined)
    fail(['it wrote no results', trouble].filter(Boolean).join(': '));
  else if (found.rest.length > 0) fail([`${found.rest.length} parts did not end`, trouble].filter(Boolean).join(': '));
  else if (trouble !== undefined && failed === 0) fail(trouble);
  if (counts === 'itself' && results === undefined && failed === 0) passed = 1;
  const notRun = isMissing ? [] : found.notRun;
  return { name, outcome: failed > 0 ? 'failed' : 'done', seconds, passed, failed, problems, notRun };
}

/**
 * The result of a step that was not started, since one that it needs did not succeed.
 * @param {Judged} step
 * @param {StepResult} needed
 * @returns {StepResult}
 */
export function judgeBlocked(step, needed) {
  if (needed.outcome !== 'not run') return judgeStopped(step, `this failed: ${needed.name}`);
  const notRun = [{ what: step.name, tests: 1, why: needed.notRun.map(({ why }) => why).join('; ') }];
  return { name: step.name, outcome: 'not run', seconds: 0, passed: 0, failed: 0, problems: [], notRun };
}

/**
 * The result of a step that was not started, for a reason that is a failure.
 * @param {Judged} step
 * @param {string} why
 * @returns {StepResult}
 */
export function judgeStopped({ name }, why) {
  const problems = [`did not run: ${why}`];
  return { name, outcome: 'failed', seconds: 0, passed: 0, failed: 1, problems, notRun: [] };
}
