// The file with the counts of a script, for the run of all tests that started it.
import { readFileSync, writeFileSync } from 'node:fs';

/** @typedef {{ what: string, tests: number, why: string }} NotRun */
/** @typedef {{ passed: number, failed: number, problems: string[], notRun: NotRun[] }} Results */
/** @typedef {import('./judge-step.mjs').StepResult} StepResult */

/** The variable that names the file. A script that is run by hand has none. */
export const resultsVariable = 'CPUSETD_TEST_RESULTS';

/** The exit status of a script that lacks a prerequisite. */
export const statusNotRun = 2;

/**
 * Writes the counts for the run of all tests, if there is one.
 * @param {Partial<Results> & { passed: number, failed: number, steps?: StepResult[] }} results
 * @param {NodeJS.ProcessEnv} env
 * @returns {void}
 */
export function writeResults({ passed, failed, problems = [], notRun = [], ...more }, env = process.env) {
  const file = env[resultsVariable];
  if (file) writeFileSync(file, JSON.stringify({ passed, failed, problems, notRun, ...more }));
}

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
 * Reads the results of a step: jest's JSON results, or those of a script of ours.
 * @param {string} file
 * @returns {any} undefined when there is no file, or none that was written to its end
 */
export function readResults(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}
