// Progress for the operator.

/** @typedef {(line: string) => void} Log Takes progress, a line at a time. */

/**
 * Prints progress to standard error: standard output is for results.
 * @type {Log}
 */
export const logToStderr = (line) => console.error(line);
