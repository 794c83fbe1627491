import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadScript } from '../../support/load-script';
import type { Counts } from './types';

interface JestResults {
  readonly testResults: readonly { readonly name: string }[];
  readonly wasInterrupted?: boolean;
}

/** The results that jest 30 wrote for six small suites. */
const sample = JSON.parse(readFileSync(join(__dirname, '../../fixtures/jest/results.json'), 'utf8')) as JestResults;

let countJest: (results: JestResults, root: string) => Counts;
beforeAll(async () => {
  ({ countJest } = await loadScript<{ countJest: typeof countJest }>('test-run/count-jest.mjs'));
});

const countSuite = (name: string) =>
  countJest({ testResults: sample.testResults.filter((suite) => suite.name.endsWith(`/${name}.test.js`)) }, '/project');

const none = { passed: 0, failed: 0, problems: [], notRun: [] };

test('a suite that could not start is one failed test', () => {
  expect(countSuite('cannot-start')).toEqual({
    ...none,
    failed: 1,
    problems: [
      "test/cannot-start.test.js: the suite failed: Cannot find module './no-such-file' from 'test/cannot-start.test.js'",
    ],
  });
});

test('a suite whose process died is one failed test', () => {
  const { problems, ...counts } = countSuite('dies');
  expect(counts).toEqual({ passed: 0, failed: 1, notRun: [] });
  expect(problems).toEqual([expect.stringMatching(/A jest worker process .* was terminated by another process/)]);
});

test('a suite that fails after its tests have passed is one failed test more', () => {
  const problems = ['test/bad-end.test.js: the suite failed: left behind'];
  expect(countSuite('bad-end')).toEqual({ ...none, passed: 1, failed: 1, problems });
});

test('a suite that passed: no failure and nothing skipped', () => {
  expect(countSuite('fine')).toEqual({ ...none, passed: 2 });
});

test('tests that are skipped with a reason are listed with it, those of one reason together', () => {
  const what = 'test/all-skipped.test.js › on a real containerd';
  expect(countSuite('all-skipped')).toEqual({ ...none, notRun: [{ what, tests: 2, why: 'root is needed' }] });
  expect(countSuite('mixed').notRun).toEqual([
    { what: 'test/mixed.test.js › a group', tests: 3, why: '3 CPUs are needed [really]; machine 2x4x2 proves it' },
  ]);
});

test('a test that is skipped or to be written without a reason has failed', () => {
  const { failed, problems } = countSuite('mixed');
  expect([failed, problems]).toEqual([
    3,
    [
      'test/mixed.test.js: a group › fails',
      'test/mixed.test.js: skipped for nothing: pending, and no reason is given',
      'test/mixed.test.js: to be written: todo, and no reason is given',
    ],
  ]);
});

test('counts of a run are the sums of its suites, each test once', () => {
  const { passed, failed, notRun } = countJest(sample, '/project');
  expect([passed, failed, notRun.reduce((sum, { tests }) => sum + tests, 0)]).toEqual([4, 6, 5]);
});

test('a run that was interrupted has failed', () => {
  expect(countJest({ testResults: [], wasInterrupted: true }, '/project')).toMatchObject({ failed: 1 });
});
