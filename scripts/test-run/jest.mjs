// The command of a step that is a run of jest.

/** @typedef {import('./steps.mjs').Command} Command */

/** The arguments of each run of jest: results come file by file, and the longest test file is first. */
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
