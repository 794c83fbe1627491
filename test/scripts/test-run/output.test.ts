import { loadScript } from '../../support/load-script';
import type { Step, StepResult } from './types';

interface State {
  readonly name: string;
  readonly results?: object;
  readonly lastLine?: string;
}
interface Lines {
  formatStart(name: string): string;
  formatEnd(result: StepResult): string;
  formatNow(states: readonly State[], counts: { ended: number; steps: number }): string;
  formatDetails(failure: { details: string; rest: readonly string[]; log: string }): readonly string[];
}
interface Steps {
  listSteps(): readonly Step[];
  listAllSteps(): readonly Step[];
}

let lines: Lines;
let steps: Steps;
let formatReport: (steps: readonly StepResult[], seconds: number) => string;
beforeAll(async () => {
  [lines, steps, { formatReport }] = await Promise.all([
    loadScript<Lines>('test-run/lines.mjs'),
    loadScript<Steps>('test-run/steps.mjs'),
    loadScript<{ formatReport: typeof formatReport }>('test-run/report.mjs'),
  ]);
});

/** The lines of test runners: jest, node, TAP, pytest, go, cargo and others. */
const ofRunners =
  /^\s*(ok|not ok|PASS|FAIL|PASSED|FAILED|===|---|#|Tests:|Test Suites:|test result:|tests:|\d+ (passed|failed|passing|failing|tests?|examples?)\b)/i;
const lastLine = /^tests: \d+ passed, \d+ failed, \d+ skipped$/;

const endOf = ({ name, counts }: Step): StepResult => ({
  name,
  outcome: 'done',
  seconds: 1234.5,
  cpuSeconds: 2345,
  log: `test-logs/${name.replace(/\W+/g, '-')}.log`,
  passed: counts === undefined ? 0 : 9876,
  failed: 0,
  problems: [],
  notRun: [],
});

test('a run without a failure that takes an hour prints less than 16 KB, and only the last line is that of a test runner', () => {
  const all = [...steps.listSteps(), ...steps.listAllSteps()];
  const ends = all.map(endOf);
  const notRun = { what: 'test/e2e/crane.test.ts › on CRI-O › a group of tests', tests: 2, why: 'x'.repeat(90) };
  const running = [
    { name: 'emulated machines', results: { planned: 60, ended: 23, failed: 0 } },
    { name: 'e2e on a release of containerd', results: { planned: 17, ended: 12, failed: 0 } },
    { name: 'install commands', lastLine: 'install:check: the README, npm 10: npm ci && npm run build && more' },
  ];
  const printed = [
    ...all.map(({ name }) => lines.formatStart(name)),
    ...ends.map((end) => lines.formatEnd(end)),
    ...Array.from({ length: 60 }, () => lines.formatNow(running, { ended: 12, steps: all.length })),
    ...formatReport([...ends.slice(1), { ...ends[0]!, notRun: Array<typeof notRun>(8).fill(notRun) }], 3600).split(
      '\n',
    ),
  ];
  expect(Buffer.byteLength(`${printed.join('\n')}\n`)).toBeLessThan(16 * 1024);
  expect(printed.filter((line) => ofRunners.test(line))).toEqual([printed.at(-1)]);
  expect(printed.at(-1)).toMatch(lastLine);
});

test('a line about what runs: how many parts have ended, else the last line of its output; no line is wider than 120', () => {
  const states = [
    { name: 'unit', results: { planned: 538, ended: 212, failed: 1 } },
    { name: 'install', lastLine: 'npm 10: '.repeat(30) },
  ];
  const line = lines.formatNow(states, { ended: 3, steps: 9 });
  expect(line).toMatch(/^\d+:\d\d {2}now {4}3\/9 steps ended; unit 212\/538 \(1 broken\), install \(npm 10: /);
  expect(line.length).toBeLessThanOrEqual(120);
});

test('a failure is printed whole, with a bar before each line, whatever a test printed', () => {
  const details = 'tests: 1 passed, 0 failed, 0 skipped\nok 1';
  const shown = lines.formatDetails({ details, rest: ['b.test.ts'], log: 'test-logs/unit.log' });
  expect(shown).toEqual([
    '  | tests: 1 passed, 0 failed, 0 skipped',
    '  | ok 1',
    '  |',
    '  | it did not come to the end of 1 parts:',
    '  |   b.test.ts',
    '  |',
    '  | its whole output: test-logs/unit.log',
  ]);
});
