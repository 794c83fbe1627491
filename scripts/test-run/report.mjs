// The report at the end of all tests.
import { basename, dirname } from 'node:path';
import { oneLine, outcomeWords } from './lines.mjs';

/** @import { StepResult } from './judge-step.mjs' */

/**
 * The counts of all steps.
 * @param {StepResult[]} steps
 */
export function sumSteps(steps) {
  /** @param {(step: StepResult) => number} read */
  const sum = (read) => steps.reduce((total, step) => total + read(step), 0);
  return {
    passed: sum(({ passed }) => passed),
    failed: sum(({ failed }) => failed),
    skipped: sum(({ notRun }) => notRun.reduce((total, { tests }) => total + tests, 0)),
  };
}

/**
 * The last line of the output. Others read it: its form is fixed.
 * @param {ReturnType<typeof sumSteps>} totals
 * @returns {string}
 */
export const formatTotals = ({ passed, failed, skipped }) =>
  `tests: ${passed} passed, ${failed} failed, ${skipped} skipped`;

/**
 * The table of steps, what failed, what was not run and why, and the totals.
 * @param {StepResult[]} steps
 * @param {number} seconds of all, by the clock: steps run side by side
 * @returns {string}
 */
export function formatReport(steps, seconds) {
  const totals = sumSteps(steps);
  const failed = steps.flatMap(({ name, problems }) => problems.map((problem) => `  ${name}: ${problem}`));
  const notRun = steps.flatMap((step) => step.notRun);
  return [
    '',
    ...formatSteps(steps, seconds),
    ...(failed.length === 0 ? [] : ['', 'broken', ...failed]),
    ...(notRun.length === 0 ? [] : ['', 'not run here, and why', ...formatNotRun(notRun)]),
    '',
    formatTotals(totals),
  ].join('\n');
}

/** @param {StepResult[]} steps @param {number} seconds */
function formatSteps(steps, seconds) {
  const head = ['', 'seconds', 'CPU s', 'passed', 'failed', 'skipped', 'step', 'log'];
  const rows = steps.map((step) => {
    const { passed, failed, skipped } = sumSteps([step]);
    const cpu = step.cpuSeconds === undefined ? '' : step.cpuSeconds.toFixed(0);
    const counts = [passed, failed, skipped].map((count) => count || '');
    return [outcomeWords[step.outcome], step.seconds.toFixed(0), cpu, ...counts, step.name, nameLog(step)];
  });
  const cpu = steps.reduce((sum, step) => sum + (step.cpuSeconds ?? 0), 0);
  const last = ['', seconds.toFixed(0), cpu.toFixed(0), ...Object.values(sumSteps(steps)), 'all, by the clock', ''];
  const folder = steps.find(({ log }) => log !== undefined)?.log;
  return [
    ...formatGrid([head, ...rows, last], [1, 2, 3, 4, 5]),
    ...(folder === undefined ? [] : ['', `logs are in ${dirname(folder)}`]),
  ];
}

/** @param {StepResult} step */
const nameLog = ({ log }) => (log === undefined ? '' : basename(log));

/** @param {StepResult['notRun']} notRun */
const formatNotRun = (notRun) =>
  formatGrid(
    [['tests', 'why', 'what'], ...notRun.map(({ tests, what, why }) => [tests, oneLine(why), oneLine(what)])],
    [0],
  );

/**
 * Aligns the columns of a table.
 * @param {(string | number)[][]} rows
 * @param {number[]} right columns that are set to the right
 */
function formatGrid(rows, right) {
  const cells = rows.map((row) => row.map(String));
  const [head = []] = cells;
  const widths = head.map((_cell, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  /** @param {string} text @param {number} column */
  const pad = (text, column) => {
    const width = widths[column] ?? 0;
    return right.includes(column) ? text.padStart(width) : text.padEnd(width);
  };
  return cells.map((row) => `  ${row.map(pad).join('  ')}`.trimEnd());
}
