import { loadScript } from '../../support/load-script';
import type { StepResult } from './types';

let formatReport: (steps: readonly StepResult[], seconds: number) => string;
beforeAll(async () => {
  ({ formatReport } = await loadScript<{ formatReport: typeof formatReport }>('test-run/report.mjs'));
});

const step = (name: string, more: Partial<StepResult> = {}): StepResult => ({
  name,
  outcome: 'done',
  seconds: 1.25,
  passed: 0,
  failed: 0,
  problems: [],
  notRun: [],
  ...more,
});
const totalsOf = (text: string) => text.split('\n').filter((line) => /^tests: /.test(line));

test('a table of steps, what failed, what was not run and why, and one last line with the sums', () => {
  const steps = [
    step('lint', { cpuSeconds: 1.6, log: 'test-logs/lint.log' }),
    step('unit', { passed: 3842, notRun: [{ what: 'a.test.ts › b', tests: 11, why: 'cgroup version 1\nis needed' }] }),
    step('e2e', { outcome: 'failed', seconds: 100, passed: 1, failed: 2, problems: ['c.test.ts: d', 'c.test.ts: e'] }),
    step('soak', { outcome: 'not run', seconds: 0, notRun: [{ what: 'soak', tests: 1, why: 'root is needed' }] }),
  ];
  expect(formatReport(steps, 90).split('\n')).toEqual([
    '',
    '            seconds  CPU s  passed  failed  skipped  step               log',
    '  done            1      2                           lint               lint.log',
    '  done            1           3842               11  unit',
    '  BROKEN        100              1       2           e2e',
    '  left out        0                               1  soak',
    '                 90      2    3843       2       12  all, by the clock',
    '',
    'logs are in test-logs',
    '',
    'broken',
    '  e2e: c.test.ts: d',
    '  e2e: c.test.ts: e',
    '',
    'not run here, and why',
    '  tests  why                           what',
    '     11  cgroup version 1 / is needed  a.test.ts › b',
    '      1  root is needed                soak',
    '',
    'tests: 3843 passed, 2 failed, 12 skipped',
  ]);
});

test('the last line is alone of its form, whatever steps and tests are called', () => {
  const title = 'tests: 1 passed, 0 failed, 0 skipped';
  const steps = [step(title, { failed: 1, problems: [title], notRun: [{ what: title, tests: 1, why: title }] })];
  expect(totalsOf(formatReport(steps, 1))).toEqual(['tests: 0 passed, 1 failed, 1 skipped']);
  expect(formatReport(steps, 1)).toMatch(/\ntests: 0 passed, 1 failed, 1 skipped$/);
});

test('without any step there is the line', () => {
  expect(totalsOf(formatReport([], 0))).toEqual(['tests: 0 passed, 0 failed, 0 skipped']);
});
