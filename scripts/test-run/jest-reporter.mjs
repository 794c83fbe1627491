// A reporter of jest that writes the results of each test file as soon as it has ended: see results.mjs.
import { countJest } from './count-jest.mjs';
import { writeResults } from './results.mjs';

/** The variable that names the file. Scripts that a test starts do not look at it. */
export const jestResultsVariable = 'CPUSETD_JEST_RESULTS';

/**
 * @typedef {object} TestFileResult the parts of jest's TestResult that are used
 * @property {string} testFilePath
 * @property {string} [failureMessage] the failures of the file, as jest prints them
 * @property {unknown} [testExecError] set when the file could not start or end
 * @property {number} numFailingTests
 * @property {import('./count-jest.mjs').Assertion[]} testResults
 */

/** It is made by jest, for one run. */
export default class ProgressReporter {
  #file = process.env[jestResultsVariable];

  /**
   * A test file has ended.
   * @param {unknown} _test
   * @param {TestFileResult} result
   */
  onTestResult(_test, result) {
    const counts = countJest({ testResults: [toSuite(result)] }, process.cwd());
    const part = result.testFilePath.replace(`${process.cwd()}/`, '');
    // Colours are for a terminal, and this goes to a file first.
    const details = counts.failed > 0 ? stripColours(result.failureMessage ?? '') : '';
    writeResults({ part, ...counts, details: details && `${part}\n${details}` }, this.#file);
  }

  /**
   * The run has ended.
   * @param {unknown} _contexts
   * @param {{ wasInterrupted: boolean }} results
   */
  onRunComplete(_contexts, { wasInterrupted }) {
    if (wasInterrupted) writeResults(countJest({ testResults: [], wasInterrupted }, process.cwd()), this.#file);
  }
}

/**
 * A result in the form of jest's --json.
 * @param {TestFileResult} result
 * @returns {import('./count-jest.mjs').Suite}
 */
function toSuite({ testFilePath, failureMessage, testExecError, numFailingTests, testResults }) {
  const status = testExecError !== undefined || numFailingTests > 0 ? 'failed' : 'passed';
  return {
    name: testFilePath,
    status,
    message: stripColours(failureMessage ?? ''),
    assertionResults: testResults,
  };
}

/** @param {string} text */
const stripColours = (text) => text.replace(/\u001b\[[0-9;]*m/g, '');
