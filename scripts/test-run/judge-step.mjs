// The result of a step.
import { countJest } from './count-jest.mjs';
import { statusNotRun } from './results.mjs';

/** @import { NotRun, Results } from './results.mjs' */
/** @typedef {Pick<import('./steps.mjs').Step, 'name' | 'counts'>} Judged */

/**
 * @typedef {object} StepResult
 * @property {string} name
 * @property {'ok' | 'failed' | 'not run'} outcome
 * @property {number} seconds
 * @property {number} passed
 * @property {number} failed never 0 when the outcome is `failed`
 * @property {string[]} problems a line each, for people
 * @property {NotRun[]} notRun
 */

/**
 * Judges a step that has ended.
 * @param {Judged} step
 * @param {object} end
 * @param {string | undefined} [end.trouble] why it ended, absent for a status of 0: see run-steps.mjs
 * @param {number | undefined} [end.status] its exit status
 * @param {any} [end.results] the results that it wrote: jest's JSON results, or those of a script of ours
 * @param {number} end.seconds
 * @param {boolean} end.isCi
 * @param {string} end.root
 * @returns {StepResult}
 */
export function judgeStep({ name, counts }, { trouble, status, results, seconds, isCi, root }) {
  const found = count(counts, results, root);
  const isMissing = status === statusNotRun && found.failed === 0 && found.passed === 0 && found.notRun.length > 0;
  if (isMissing && !isCi) return { name, outcome: 'not run', seconds, ...found };

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
  else if (trouble !== undefined && failed === 0) fail(trouble);
  if (counts === 'itself' && results === undefined && failed === 0) passed = 1;
  const notRun = isMissing ? [] : found.notRun;
  return { name, outcome: failed > 0 ? 'failed' : 'ok', seconds, passed, failed, problems, notRun };
}

/**
 * The counts in the results of a step.
 * @param {Judged['counts']} counts
 * @param {any} results
 * @param {string} root
 * @returns {Results}
 */
function count(counts, results, root) {
  if (results === undefined) return { passed: 0, failed: 0, problems: [], notRun: [] };
  if (counts === 'jest') return countJest(results, root);
  const { passed, failed, problems, notRun } = results;
  return { passed, failed, problems, notRun };
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
