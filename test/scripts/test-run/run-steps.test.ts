import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitUntil } from '../../support/wait-until';
import { loadScript } from '../../support/load-script';
import type { Step, StepResult } from './types';

interface Options {
  readonly root: string;
  readonly folder: string;
  readonly logs: string;
  readonly machine: { readonly cpus: number; readonly memoryGiB: number };
  readonly isCi: boolean;
  readonly signal: AbortSignal;
  readonly print: (line: string) => void;
}

let runSteps: (steps: readonly Step[], options: Options) => Promise<readonly StepResult[]>;
let folder: string;
let printed: string;
beforeAll(async () => {
  ({ runSteps } = await loadScript<{ runSteps: typeof runSteps }>('test-run/run-steps.mjs'));
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'steps-'));
  printed = '';
});
afterEach(() => rmSync(folder, { recursive: true }));

const node = (code: string): readonly string[] => [process.execPath, '-e', code];
const run = (steps: readonly Step[], signal = new AbortController().signal) =>
  runSteps(steps, {
    root: folder,
    folder,
    logs: folder,
    machine: { cpus: 2, memoryGiB: 8 },
    isCi: false,
    signal,
    print: (line) => (printed += `${line}\n`),
  });
const show = (results: readonly StepResult[]) =>
  results.map(
    ({ name, outcome, passed, failed, problems }) => `${name}: ${[outcome, passed, failed, ...problems].join(', ')}`,
  );
/** Code that writes counts as a script of the project does. */
const writeResults = (results: object) =>
  `require('fs').appendFileSync(process.env.CPUSETD_TEST_RESULTS, ${JSON.stringify(`${JSON.stringify(results)}\n`)})`;

test('a step fails: all others run, except those that need it', async () => {
  const results = await run([
    { name: 'bad', command: node('process.exit(3)'), cpus: 1 },
    { name: 'after it', command: node(''), needs: ['bad'], counts: 'itself' },
    { name: 'after that', command: node(''), needs: ['after it'] },
    { name: 'no such program', command: [join(folder, 'none')] },
    { name: 'killed', command: node("process.kill(process.pid, 'SIGKILL')") },
    { name: 'good', command: node(''), counts: 'itself' },
  ]);
  expect(show(results)).toEqual([
    'bad: failed, 0, 1, exit status 3',
    'after it: failed, 0, 1, did not run: this failed: bad',
    'after that: failed, 0, 1, did not run: this failed: after it',
    expect.stringMatching(/^no such program: failed, 0, 1, .*ENOENT/),
    'killed: failed, 0, 1, ended by SIGKILL',
    'good: done, 1, 0',
  ]);
});

test('steps for which there is room run side by side, and the others after them', async () => {
  // Each of the two waits for the other: in sequence they would never end.
  const meet = (own: string, other: string) =>
    node(`const fs = require('fs'); fs.writeFileSync('${own}', '');
          const timer = setInterval(() => fs.existsSync('${other}') && clearInterval(timer), 5)`);
  const log = (word: string) => node(`require('fs').appendFileSync('log', '${word} ')`);
  const results = await run([
    { name: 'one', command: meet('a', 'b'), cpus: 1 },
    { name: 'two', command: meet('b', 'a'), cpus: 1 },
    { name: 'heavy', command: log('heavy') },
  ]);
  expect(results.map(({ outcome }) => outcome)).toEqual(['done', 'done', 'done']);
  expect(readFileSync(join(folder, 'log'), 'utf8')).toBe('heavy ');
});

test('the output of a step: it goes to its file, and a failure prints the end of it', async () => {
  await run([
    { name: 'one', command: node("console.log('1a'); setTimeout(() => console.error('1b'), 50)"), cpus: 1 },
    {
      name: 'two',
      command: node("console.log('2a'); console.log('tests: 1 passed, 0 failed'); process.exit(4)"),
      cpus: 1,
    },
  ]);
  expect(readFileSync(join(folder, 'one.log'), 'utf8')).toBe('1a\n1b\n');
  expect(printed).not.toContain('1a');
  expect(printed).toMatch(/end {4}two: BROKEN, .*: exit status 4\n {2}\| 2a\n {2}\| tests: 1 passed, 0 failed\n/);
  expect(printed).toContain(`its whole output: ${join(folder, 'two.log')}`);
});

test('a step that is cut: it counts what had passed, prints its failures whole, and names the rest', async () => {
  const lines = [
    { plan: ['a.test.ts', 'b.test.ts', 'c.test.ts'] },
    { part: 'a.test.ts', passed: 3, failed: 0, problems: [], notRun: [] },
    {
      part: 'b.test.ts',
      passed: 1,
      failed: 1,
      problems: ['b.test.ts: x'],
      notRun: [],
      details: 'expected 1\nreceived 2',
    },
  ];
  const results = await run([
    {
      name: 'cut',
      command: node(`${lines.map(writeResults).join(';')}; process.kill(process.pid, 'SIGKILL')`),
      counts: 'results',
    },
  ]);
  expect(show(results)).toEqual(['cut: failed, 4, 2, b.test.ts: x, 1 parts did not end: ended by SIGKILL']);
  expect(printed).toMatch(
    /\| expected 1\n {2}\| received 2\n {2}\|\n {2}\| it did not come to the end of 1 parts:\n {2}\| {3}c\.test\.ts\n/,
  );
});

test('a step that hangs: it is ended, also when it ignores SIGTERM, and the others run', async () => {
  const limit = { quietMinutes: 1 / 60, graceSeconds: 0.1 };
  const results = await run([
    { name: 'hangs', command: node('setInterval(() => {}, 1000)'), ...limit },
    { name: 'stays', command: node("process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)"), ...limit },
    { name: 'next', command: node(''), counts: 'itself' },
  ]);
  expect(show(results)).toEqual([
    expect.stringMatching(/^hangs: failed, 0, 1, no progress for [0-9.]+ minutes: /),
    expect.stringMatching(/^stays: failed, 0, 1, no progress for [0-9.]+ minutes: /),
    'next: done, 1, 0',
  ]);
});

const isAlive = (pid: string): boolean => {
  const stat = `/proc/${pid}/stat`;
  return existsSync(stat) && readFileSync(stat, 'utf8').split(' ')[2] !== 'Z';
};

test('an interruption: the running step ends with its child processes, and steps that have not run have failed', async () => {
  const stop = new AbortController();
  // The child takes longer to end than its parent.
  const lingers = "process.on('SIGTERM', () => setTimeout(() => process.exit(), 300)); setInterval(() => {}, 1000)";
  const child = `require('child_process').spawn(process.execPath, ['-e', ${JSON.stringify(lingers)}], { stdio: 'ignore' })`;
  const running = run(
    [
      {
        name: 'runs',
        command: node(`require('fs').writeFileSync('pid', \`\${${child}.pid} \`); setInterval(() => {}, 1000)`),
      },
      { name: 'waits', command: node(''), counts: 'itself' },
    ],
    stop.signal,
  );
  const readPid = () => (existsSync(join(folder, 'pid')) ? readFileSync(join(folder, 'pid'), 'utf8') : '');
  await waitUntil('it has started another', () => readPid().endsWith(' '));
  stop.abort('interrupted');
  expect(show(await running)).toEqual([
    'runs: failed, 0, 1, interrupted',
    'waits: failed, 0, 1, did not run: interrupted',
  ]);
  expect(isAlive(readPid().trim())).toBe(false);
});

test('a step that runs steps: their results are listed, and its own failure besides', async () => {
  const inner = { name: 'inner', outcome: 'failed', seconds: 1, passed: 2, failed: 1, problems: ['x'], notRun: [] };
  const failed = { part: 'inner', passed: 2, failed: 1, problems: ['x'], notRun: [], steps: [inner] };
  const fine = { ...failed, failed: 0, problems: [], steps: [{ ...inner, outcome: 'done', failed: 0, problems: [] }] };
  const results = await run([
    { name: 'failed within', command: node(`${writeResults(failed)}; process.exit(1)`), counts: 'results' },
    { name: 'died', command: node(`${writeResults(fine)}; process.exit(9)`), counts: 'results' },
    {
      name: 'was cut',
      command: node(`${writeResults({ plan: ['inner', 'outer'] })}; ${writeResults(fine)}; process.exit(9)`),
      counts: 'results',
    },
    { name: 'wrote nothing', command: node(''), counts: 'results' },
  ]);
  expect(show(results)).toEqual([
    'inner: failed, 2, 1, x',
    'failed within: failed, 0, 0',
    'inner: done, 2, 0',
    'died: failed, 0, 1, exit status 9',
    'inner: done, 2, 0',
    'was cut: failed, 0, 1, 1 parts did not end: exit status 9',
    'wrote nothing: failed, 0, 1, it wrote no results',
  ]);
});

test('a step that needs one with a missing prerequisite: it is not run', async () => {
  const missing = {
    passed: 0,
    failed: 0,
    problems: [],
    notRun: [{ what: 'a runtime', tests: 1, why: 'root is needed' }],
  };
  const results = await run([
    { name: 'a runtime', command: node(`${writeResults(missing)}; process.exit(2)`) },
    { name: 'tests on it', command: node(''), needs: ['a runtime'] },
  ]);
  expect(results.map(({ outcome, failed, notRun }) => [outcome, failed, notRun[0]?.why])).toEqual([
    ['not run', 0, 'root is needed'],
    ['not run', 0, 'root is needed'],
  ]);
});
