import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

// The first change of CONTRIBUTING.md, as far as it can go out of date.

const ROOT = join(__dirname, '../..');
const page = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** The part of the page that begins with `**N.` */
function stepOf(number: number): string {
  const [, text] = new RegExp(`^\\*\\*${number}\\. ([^]*?)(?=^\\*\\*\\d\\. |^## )`, 'm').exec(page) ?? [];
  if (text === undefined) throw new Error(`CONTRIBUTING.md has no step ${number}`);
  return text;
}

test('the search of step 1 finds the files that the step names', () => {
  const words = /`grep (-rn \S+ src docs)`/.exec(stepOf(1))![1]!.split(' ');
  const found = execFileSync('grep', ['-rn', ...words.slice(1)], { cwd: ROOT, encoding: 'utf8' });
  const named = [...stepOf(1).matchAll(/`((?:src|docs)\/[^`]+)`/g)].map(([, path]) => path!);
  expect(named.length).toBeGreaterThan(1);
  for (const path of named) expect(found).toContain(`${path}:`);
});

test('each place of step 3 is in the file of settings, and the row of step 2 is like those of the test', () => {
  const settings = read('src/core/model/settings.ts');
  const places = [...stepOf(3).matchAll(/\/\/ in (\w+)/g)].map(([, name]) => name!);
  expect(places).toEqual(['StaticPolicyOptions', 'NO_OPTIONS', 'OPTIONS_BY_NAME']);
  for (const name of places) expect(settings).toMatch(new RegExp(`^export (?:interface|const) ${name}\\b`, 'm'));
  expect(stepOf(2)).toMatch(
    /^ {2}\$\{'.*'\} \| \$\{\{ rules: \{ options: .* \| \$\{3\} \| \$\{'FAILED_PRECONDITION'\}$/m,
  );
  expect(read('test/core/policy/static.test.ts')).toMatch(/^ {2}name +\| situation +\| count \| want$/m);
});

test('the files and names of step 4 are there', () => {
  const text = read('src/core/policy/allocate-cpus.ts');
  for (const name of ['grant.options', 'request.count', 'refuseSplitCores']) expect(text).toContain(name);
  expect(stepOf(4)).toContain('`src/core/policy/allocate-cpus.ts`');
  expect(read('src/core/policy/refusals.ts')).toContain('export function refuseSplitCores(');
});

test('npm run unit takes the names of files: it runs the tests of one file', () => {
  const file = 'test/core/policy/static.test.ts';
  const options = { cwd: ROOT, encoding: 'utf8' } as const;
  const listed = execFileSync('npm', ['run', '--silent', 'unit', '--', '--listTests', file], options);
  expect(listed.split('\n').filter((line) => line.startsWith('/'))).toEqual([join(ROOT, file)]);
});
