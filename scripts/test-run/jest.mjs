// The command of a step that is a run of jest.

/** @typedef {import('./steps.mjs').Command} Command */

/** What each run of jest has: results as they come, and the longest test file first. */
export const jestArguments = [
  ...['--reporters', 'default', '--reporters', './scripts/test-run/jest-reporter.mjs'],
  ...['--testSequencer', './scripts/test-run/jest-sequencer.mjs', '--silent'],
];

/**
 * A run of jest whose results are counted while it runs.
 * @param {...string} args of jest
 * @returns {Command}
 */
export const jest = (...args) => [process.execPath, 'node_modules/jest/bin/jest.js', ...jestArguments, ...args];
