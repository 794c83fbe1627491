import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitUntil } from '../../support/wait-until';
import { loadScript } from '../../support/load-script';
import type { Step, StepResult } from './types';

interface Options {
  readonly root: string;
  readonly folder: string;
  readonly cpus: number;
  readonly isCi: boolean;
  readonly signal: AbortSignal;
  readonly print: (text: string) => void;
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
  runSteps(steps, { root: folder, folder, cpus: 2, isCi: false, signal, print: (text) => (printed += text) });
const show = (results: readonly StepResult[]) =>
  results.map(
    ({ name, outcome, passed, failed, problems }) => `${name}: ${[outcome, passed, failed, ...problems].join(', ')}`,
  );
/** Code that writes counts as a script of the project does. */
const writeResults = (results: object) =>
  `require('fs').writeFileSync(process.env.CPUSETD_TEST_RESULTS, ${JSON.stringify(JSON.stringify(results))})`;

test('a step fails: all others run, except those that need it', async () => {
  const results = await run([
    { name: 'bad', command: node('process.exit(3)'), light: true },
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
    'good: ok, 1, 0',
  ]);
});

test('light steps run side by side, a heavy one alone, and none overtakes it', async () => {
  // Each of the two waits for the other: in sequence they would never end.
  const meet = (own: string, other: string) =>
    node(`const fs = require('fs'); fs.writeFileSync('${own}', '');
          const timer = setInterval(() => fs.existsSync('${other}') && clearInterval(timer), 5)`);
  const log = (word: string) => node(`require('fs').appendFileSync('log', '${word} ')`);
  const results = await run([
    { name: 'one', command: meet('a', 'b'), light: true },
    { name: 'two', command: meet('b', 'a'), light: true },
    { name: 'heavy', command: log('heavy') },
    { name: 'last', command: log('last'), light: true },
  ]);
  expect(results.map(({ outcome }) => outcome)).toEqual(['ok', 'ok', 'ok', 'ok']);
  expect(readFileSync(join(folder, 'log'), 'utf8')).toBe('heavy last ');
});

test('a light step that waits for another lets those behind it go first', async () => {
  const results = await run([
    {
      name: 'first',
      command: node(`const t = setInterval(() => require('fs').existsSync('c') && clearInterval(t), 5)`),
      light: true,
    },
    { name: 'second', command: node(''), light: true, needs: ['first'] },
    { name: 'third', command: node(`require('fs').writeFileSync('c', '')`), light: true },
  ]);
  expect(results.map(({ name, outcome }) => `${name} ${outcome}`)).toEqual(['first ok', 'second ok', 'third ok']);
});

test('the output of a light step: it is printed in one piece at its end', async () => {
  await run([
    { name: 'one', command: node("console.log('1a'); setTimeout(() => console.error('1b'), 50)"), light: true },
    { name: 'two', command: node("console.log('2a'); setTimeout(() => console.error('2b'), 50)"), light: true },
  ]);
  expect(printed).toContain('1a\n1b\n=== ok');
  expect(printed).toContain('2a\n2b\n=== ok');
});

test('a step that hangs: it is ended, also when it ignores SIGTERM, and the others run', async () => {
  const limit = { limitMinutes: 0.5 / 60, graceSeconds: 0.1 };
  const results = await run([
    { name: 'hangs', command: node('setInterval(() => {}, 1000)'), ...limit },
    { name: 'stays', command: node("process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)"), ...limit },
    { name: 'next', command: node(''), counts: 'itself' },
  ]);
  expect(show(results)).toEqual([
    expect.stringMatching(/^hangs: failed, 0, 1, not done after [0-9.]+ minutes$/),
    expect.stringMatching(/^stays: failed, 0, 1, not done after [0-9.]+ minutes$/),
    'next: ok, 1, 0',
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
  const failed = { passed: 2, failed: 1, problems: ['x'], notRun: [], steps: [inner] };
  const fine = {
    passed: 2,
    failed: 0,
    problems: [],
    notRun: [],
    steps: [{ ...inner, outcome: 'ok', failed: 0, problems: [] }],
  };
  const results = await run([
    { name: 'failed within', command: node(`${writeResults(failed)}; process.exit(1)`), counts: 'results' },
    { name: 'died', command: node(`${writeResults(fine)}; process.exit(9)`), counts: 'results' },
    { name: 'wrote nothing', command: node(''), counts: 'results' },
  ]);
  expect(show(results)).toEqual([
    'inner: failed, 2, 1, x',
    'failed within: failed, 0, 0',
    'inner: ok, 2, 0',
    'died: failed, 0, 1, exit status 9',
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
