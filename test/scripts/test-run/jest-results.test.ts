import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitUntil } from '../../support/wait-until';
import { loadScript } from '../../support/load-script';
import type { Counts } from './types';

interface Results extends Counts {
  readonly planned: number;
  readonly ended: number;
  readonly rest: readonly string[];
  readonly details: string;
}

const root = join(__dirname, '../../..');
let readResults: (file: string) => Results | undefined;
let folder: string;
let file: string;
beforeAll(async () => {
  ({ readResults } = await loadScript<{ readResults: typeof readResults }>('test-run/results.mjs'));
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'jest-'));
  file = join(folder, 'results.jsonl');
  writeFileSync(join(folder, 'package.json'), '{ "jest": { "testEnvironment": "node" } }');
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Starts jest on test files of these texts, as a step does; `seconds` are those that the last run has kept. */
function startJest(texts: Readonly<Record<string, string>>, seconds: object = {}): ChildProcess {
  const cache = join(folder, 'cache');
  mkdirSync(cache);
  writeFileSync(join(cache, 'test-seconds.json'), JSON.stringify(seconds));
  for (const [name, text] of Object.entries(texts)) writeFileSync(join(folder, name), text);
  const scripts = (name: string) => join(root, 'scripts/test-run', name);
  const args = [
    ...['--cacheDirectory', join(folder, 'jest')],
    '--reporters',
    scripts('jest-reporter.mjs'),
    '--testSequencer',
    scripts('jest-sequencer.mjs'),
    '--runInBand',
  ];
  return spawn(process.execPath, [join(root, 'node_modules/jest/bin/jest.js'), ...args], {
    cwd: folder,
    env: { ...process.env, CPUSETD_JEST_RESULTS: file, CPUSETD_CACHE: cache },
    stdio: 'ignore',
  });
}

test('given a run of jest that is killed: what had ended counts, a failure is whole, and the rest is known', async () => {
  const jest = startJest(
    {
      'a.test.js': "test('holds', () => {}); test('breaks', () => expect('one').toBe('two'));",
      'b.test.js': "test('never ends', () => new Promise(() => {}), 1e9);",
      'c.test.js': "test('holds too', () => {});",
    },
    { 'a.test.js': 3, 'b.test.js': 2, 'c.test.js': 1 },
  );
  await waitUntil('the first file has ended', () => readResults(file)?.ended === 1);
  jest.kill('SIGKILL');
  await once(jest, 'exit');
  const { details, ...results } = readResults(file)!;
  expect(results).toMatchObject({
    passed: 1,
    failed: 1,
    problems: ['a.test.js: breaks'],
    notRun: [],
    planned: 3,
    ended: 1,
    rest: ['b.test.js', 'c.test.js'],
  });
  expect(details).toMatch(/Expected: "two"\s+Received: "one"/);
  expect(details).not.toContain('\u001b');
});

test('test files run in the order of the seconds that they last took, those that are not known first', async () => {
  const jest = startJest(
    { 'a.test.js': "test('a', () => {});", 'b.test.js': "test('b', () => {});", 'c.test.js': "test('c', () => {});" },
    { 'a.test.js': 1, 'b.test.js': 20 },
  );
  const [status] = await once(jest, 'exit');
  expect(status).toBe(0);
  const [plan] = readFileSync(file, 'utf8').split('\n');
  expect(JSON.parse(plan!)).toEqual({ plan: ['c.test.js', 'b.test.js', 'a.test.js'] });
  const kept = JSON.parse(readFileSync(join(folder, 'cache/test-seconds.json'), 'utf8')) as Record<string, number>;
  expect(Object.keys(kept).sort()).toEqual(['a.test.js', 'b.test.js', 'c.test.js']);
});

test('a line that was cut while it was written does not hide the others', () => {
  writeFileSync(
    file,
    '{"plan":["a","b"]}\n{"part":"a","passed":2,"failed":0,"problems":[],"notRun":[]}\n{"part":"b","pas',
  );
  expect(readResults(file)).toMatchObject({ passed: 2, failed: 0, rest: ['b'] });
});
