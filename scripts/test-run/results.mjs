// The file in which a script tells its counts to the run of all tests that started it.
import { readFileSync, writeFileSync } from 'node:fs';

/** Names the file. A script that somebody runs by hand has none. */
export const resultsVariable = 'CPUSETD_TEST_RESULTS';

/** The exit status of a script that lacks a prerequisite. */
export const statusNotRun = 2;

/**
 * Tells the counts to whoever runs all tests, if somebody does.
 * @param {{ passed: number, failed: number, problems?: string[], notRun?: { what: string, tests: number, why: string }[] }} results
 */
export function writeResults({ passed, failed, problems = [], notRun = [], ...more }, env = process.env) {
  const file = env[resultsVariable];
  if (file) writeFileSync(file, JSON.stringify({ passed, failed, problems, notRun, ...more }));
}

/** Ends a script that lacks a prerequisite: one loud line, an entry in the last table, and an exit status of its own. */
export function endNotRun(what, why) {
  console.error(`\n*** SKIPPED: ${what}: ${why}\n`);
  writeResults({ passed: 0, failed: 0, notRun: [{ what, tests: 1, why }] });
  process.exit(statusNotRun);
}

/** @returns {object | undefined} undefined when there is no file, or none that was written to its end */
export function readResults(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}
