// How a step ended.
import { countJest } from './count-jest.mjs';
import { statusNotRun } from './results.mjs';

/**
 * @typedef {object} StepResult
 * @property {string} name
 * @property {'ok' | 'failed' | 'not run'} outcome
 * @property {number} seconds
 * @property {number} passed
 * @property {number} failed never 0 when the outcome is `failed`
 * @property {string[]} problems a line each, for people
 * @property {{ what: string, tests: number, why: string }[]} notRun
 */

/**
 * @param {object} step see steps.mjs
 * @param {object} end
 * @param {string} [end.trouble] what ended it, but for a status of 0: see run-steps.mjs
 * @param {number} [end.status] its exit status
 * @param {object} [end.results] what it wrote: jest's JSON results, or those of a script of ours
 * @param {number} end.seconds
 * @param {boolean} end.isCi
 * @param {string} end.root
 * @returns {StepResult}
 */
export function judgeStep({ name, counts }, { trouble, status, results, seconds, isCi, root }) {
  const told = count(counts, results, root);
  const isMissing = status === statusNotRun && told.failed === 0 && told.passed === 0 && told.notRun.length > 0;
  if (isMissing && !isCi) return { name, outcome: 'not run', seconds, ...told };

  const problems = [...told.problems];
  let { failed, passed } = told;
  const fail = (problem) => {
    failed++;
    problems.push(problem);
  };
  if (isMissing) for (const { what, why } of told.notRun) fail(`${what}: ${why}`);
  else if (counts !== undefined && counts !== 'itself' && results === undefined)
    fail(['it wrote no results', trouble].filter(Boolean).join(': '));
  else if (trouble !== undefined && failed === 0) fail(trouble);
  if (counts === 'itself' && results === undefined && failed === 0) passed = 1;
  const notRun = isMissing ? [] : told.notRun;
  return { name, outcome: failed > 0 ? 'failed' : 'ok', seconds, passed, failed, problems, notRun };
}

function count(counts, results, root) {
  if (results === undefined) return { passed: 0, failed: 0, problems: [], notRun: [] };
  if (counts === 'jest') return countJest(results, root);
  const { passed, failed, problems, notRun } = results;
  return { passed, failed, problems, notRun };
}

/** The result of a step that was not started, since one that it needs did not succeed. */
export function judgeBlocked(step, needed) {
  if (needed.outcome !== 'not run') return judgeStopped(step, `this failed: ${needed.name}`);
  const notRun = [{ what: step.name, tests: 1, why: needed.notRun.map(({ why }) => why).join('; ') }];
  return { name: step.name, outcome: 'not run', seconds: 0, passed: 0, failed: 0, problems: [], notRun };
}

/** The result of a step that was not started, for a reason that is a failure. */
export function judgeStopped({ name }, why) {
  const problems = [`did not run: ${why}`];
  return { name, outcome: 'failed', seconds: 0, passed: 0, failed: 1, problems, notRun: [] };
}
