// The lines that a run prints before its table. Their words are not those of a test runner, so that the last line of
// all is the only one of its kind.
import { performance } from 'node:perf_hooks';

/** @import { StepResult } from './judge-step.mjs' */
/** @import { Progress } from './results.mjs' */

const width = 120;

/** The words for the outcomes of a step. */
export const outcomeWords = /** @type {const} */ ({ done: 'done', failed: 'BROKEN', 'not run': 'left out' });

/**
 * A line with the time since the start of the run before it.
 * @param {string} word
 * @param {string} text
 */
const stamp = (word, text) => cut(`${clock(performance.now() / 1000)}  ${word.padEnd(6)} ${text}`);

/** @param {number} seconds */
const clock = (seconds) =>
  [seconds / 60, seconds % 60].map((part) => String(Math.floor(part)).padStart(2, '0')).join(':');

/** @param {string} text */
const cut = (text, longest = width) => (text.length <= longest ? text : `${text.slice(0, longest - 3)}...`);

/** @param {string} name */
export const formatStart = (name) => stamp('begin', name);

/**
 * @param {StepResult} result
 * @returns {string}
 */
export function formatEnd({ name, outcome, seconds, cpuSeconds, problems, notRun }) {
  const why =
    problems.length > 0 ? `: ${problems.length === 1 ? oneLine(problems[0]) : `${problems.length} failures`}` : '';
  const missing = outcome === 'not run' ? `: ${oneLine(notRun[0]?.why)}` : '';
  const times = `${Math.round(seconds)} s${cpuSeconds ? `, ${Math.round(cpuSeconds)} s of CPU` : ''}`;
  return stamp('end', `${name}: ${outcomeWords[outcome]}, ${times}${why}${missing}`);
}

/**
 * The state of all that runs.
 * @param {{ name: string, results: Progress | undefined, lastLine: string | undefined }[]} states
 * @param {{ ended: number, steps: number }} counts
 * @returns {string}
 */
export function formatNow(states, { ended, steps }) {
  const shown = states.map(({ name, results, lastLine }) => {
    if (results && results.planned > 0)
      return `${name} ${results.ended}/${results.planned}${results.failed > 0 ? ` (${results.failed} broken)` : ''}`;
    const room = Math.max(20, Math.floor((width - 40) / states.length) - name.length);
    return lastLine === undefined ? name : `${name} (${cut(oneLine(lastLine), room)})`;
  });
  return stamp('now', `${ended}/${steps} steps ended; ${shown.join(', ')}`);
}

/**
 * The failures of a step, whole, and the parts that it did not come to. Each line has a bar before it, so that none is
 * taken for one of ours.
 * @param {{ details: string, rest: string[], log: string }} failure
 * @returns {string[]}
 */
export function formatDetails({ details, rest, log }) {
  return [
    ...details.trimEnd().split('\n'),
    ...(rest.length === 0
      ? []
      : ['', `it did not come to the end of ${rest.length} parts:`, ...rest.map((name) => `  ${name}`)]),
    '',
    `its whole output: ${log}`,
  ].map((line) => `  | ${line}`.trimEnd());
}

/** @param {string | undefined} text */
export const oneLine = (text = '') =>
  text
    .trim()
    .replace(/\s*\n\s*/g, ' / ')
    .replace(/[ \t]+/g, ' ');
