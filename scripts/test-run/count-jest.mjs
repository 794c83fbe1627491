// Counts of test files of jest, from results in the form of its --json.
import { relative } from 'node:path';

/** @import { NotRun, Results } from './results.mjs' */
/** @typedef {{ ancestorTitles: string[], title: string, status: string }} Assertion */
/** @typedef {{ name: string, status: string, message?: string, assertionResults: Assertion[] }} Suite */
/** @typedef {{ file: string, why: string, tests: string[][] }} Group */

/** The group that test/support/not-run.ts puts around tests. */
const notRunTitle = /^\[not run: (.*)\]$/s;

/**
 * Counts the tests of a run.
 * @param {{ testResults: Suite[], wasInterrupted?: boolean }} results
 * @param {string} root the folder that names of files are relative to
 * @returns {Results}
 *   A suite that failed without a failed test, such as one that could not start, counts as one failed test. So does a
 *   test that is
 *   skipped without a reason.
 */
export function countJest({ testResults, wasInterrupted = false }, root) {
  /** @type {Omit<Results, 'notRun'>} */
  const counts = { passed: 0, failed: 0, problems: [] };
  /** @type {Map<string, Group>} */
  const groups = new Map();
  /** @param {string} problem */
  const fail = (problem) => {
    counts.failed++;
    counts.problems.push(problem);
  };

  for (const { name, status, message, assertionResults } of testResults) {
    const file = relative(root, name);
    if (status === 'failed' && !assertionResults.some((test) => test.status === 'failed'))
      fail(`${file}: the suite failed: ${firstWords(message)}`);
    for (const test of assertionResults) {
      if (test.status === 'passed') counts.passed++;
      else if (test.status === 'failed') fail(`${file}: ${nameTest(test)}`);
      else if (!addNotRun(groups, file, test))
        fail(`${file}: ${nameTest(test)}: ${test.status}, and no reason is given`);
    }
  }
  if (wasInterrupted) fail('jest was interrupted');
  return { ...counts, notRun: [...groups.values()].map(describeGroup) };
}

/**
 * Adds a test that is not run to the group of its file and reason.
 * @param {Map<string, Group>} groups
 * @param {string} file
 * @param {Assertion} test
 * @returns {boolean} false when no reason is given
 */
function addNotRun(groups, file, { ancestorTitles, title }) {
  const why = ancestorTitles.map((each) => notRunTitle.exec(each)?.[1]).find((each) => each !== undefined);
  if (why === undefined) return false;
  const titles = [...ancestorTitles, title].filter((each) => !notRunTitle.test(each));
  const key = JSON.stringify([file, why]);
  groups.set(key, { file, why, tests: [...(groups.get(key)?.tests ?? []), titles] });
  return true;
}

/**
 * Describes a group by the titles that its tests share.
 * @param {Group} group
 * @returns {NotRun}
 */
function describeGroup({ file, why, tests }) {
  const [first = []] = tests;
  const differs = first.findIndex((title, depth) => tests.some((titles) => titles[depth] !== title));
  const shared = differs < 0 ? first : first.slice(0, differs);
  return { what: [file, ...shared].join(' › '), tests: tests.length, why };
}

/** @param {Assertion} test */
const nameTest = ({ ancestorTitles, title }) => [...ancestorTitles, title].join(' › ');

/**
 * The first line of jest's message that says something.
 * @param {string | undefined} message
 */
function firstWords(message) {
  const lines = (message ?? '').split('\n').map((line) => line.trim());
  return lines.find((line) => line !== '' && !line.startsWith('●')) ?? 'it says nothing';
}
