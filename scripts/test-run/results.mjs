// The file of a step's results. A step writes it part by part while it runs, so that a step that is cut keeps what it
// had done.
//
// Each line is a JSON object: the parts to come, or the counts of a part that has ended.
import { appendFileSync, readFileSync } from 'node:fs';

/** @typedef {{ what: string, tests: number, why: string }} NotRun */
/**
 * @typedef {object} Results
 * @property {number} passed
 * @property {number} failed
 * @property {string[]} problems a line for each failure
 * @property {NotRun[]} notRun
 */
/**
 * @typedef {object} PartEnd
 * @property {string} [part] its name in the plan, when there is one
 * @property {string} [details] the whole text of its failures
 * @property {StepResult[]} [steps] the steps that the part ran
 */
/**
 * @typedef {object} PartsOfStep
 * @property {number} planned
 * @property {number} ended
 * @property {string[]} rest the names of the parts that have not ended
 * @property {string} details
 * @property {StepResult[]} steps
 */
/** @typedef {Results & PartsOfStep} Progress the results of a step up to now */
/** @typedef {import('./judge-step.mjs').StepResult} StepResult */

/** The variable that names the file. A script that is run by hand has none. */
export const resultsVariable = 'CPUSETD_TEST_RESULTS';

/** The exit status of a script that lacks a prerequisite. */
export const statusNotRun = 2;

/**
 * Writes the names of the parts that will run, if a run of all tests wants them.
 * @param {string[]} names
 * @param {string | undefined} file
 * @returns {void}
 */
export function planParts(names, file = process.env[resultsVariable]) {
  if (file) append(file, { plan: names });
}

/**
 * Writes the counts of a part, or of a whole step, if a run of all tests wants them.
 * @param {Partial<Results> & { passed: number, failed: number } & PartEnd} end
 * @param {string | undefined} file
 * @returns {void}
 */
export function writeResults(
  { passed, failed, problems = [], notRun = [], ...more },
  file = process.env[resultsVariable],
) {
  if (file) append(file, { passed, failed, problems, notRun, ...more });
}

/** @param {string} file @param {object} line */
const append = (file, line) => appendFileSync(file, `${JSON.stringify(line)}\n`);

/**
 * Ends a script that lacks a prerequisite: one loud line, an entry in the last table, and an exit status of its own.
 * @param {string} what
 * @param {string} why
 * @returns {never}
 */
export function endNotRun(what, why) {
  console.error(`\n*** SKIPPED: ${what}: ${why}\n`);
  writeResults({ passed: 0, failed: 0, notRun: [{ what, tests: 1, why }] });
  process.exit(statusNotRun);
}

/**
 * Reads the results of a step up to now.
 * @param {string} file
 * @returns {Progress | undefined} undefined when nothing was written
 */
export function readResults(file) {
  const lines = readLines(file);
  if (lines.length === 0) return undefined;
  /** @type {Progress} */
  const sum = {
    passed: 0,
    failed: 0,
    problems: [],
    notRun: [],
    planned: 0,
    ended: 0,
    rest: [],
    details: '',
    steps: [],
  };
  const plan = lines.flatMap(({ plan = [] }) => plan);
  const ends = lines.filter(({ plan }) => plan === undefined);
  for (const end of ends) {
    sum.passed += end.passed;
    sum.failed += end.failed;
    sum.problems.push(...end.problems);
    sum.notRun.push(...end.notRun);
    sum.steps.push(...(end.steps ?? []));
    if (end.details) sum.details += `${end.details.trimEnd()}\n`;
  }
  const ended = new Set(ends.map(({ part }) => part));
  const rest = plan.filter((name) => !ended.has(name));
  return { ...sum, planned: plan.length, ended: plan.length - rest.length, rest };
}

/**
 * The lines that were written to their end.
 * @param {string} file
 * @returns {(Results & PartEnd & { plan?: string[] })[]}
 */
function readLines(file) {
  try {
    const whole = readFileSync(file, 'utf8').split('\n').slice(0, -1);
    return whole.map((line) => JSON.parse(line));
  } catch {
    return []; // the step has written nothing yet
  }
}
