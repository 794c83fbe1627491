import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// The first change of CONTRIBUTING.md is made in a copy of the project, with the lines that the page gives.

const ROOT = join(__dirname, '../..');
const page = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8');
const STATIC_TEST = 'test/core/policy/static.test.ts';
const PAGE_TESTS = ['test/docs/policies.test.ts', 'test/docs/concepts.test.ts'];

/** The part of the page that begins with `**N.` */
function stepOf(number: number): string {
  const [, text] = new RegExp(`^\\*\\*${number}\\. ([^]*?)(?=^\\*\\*\\d\\. |^## )`, 'm').exec(page) ?? [];
  if (text === undefined) throw new Error(`CONTRIBUTING.md has no step ${number}`);
  return text;
}

/** The fenced blocks of a step. */
const blocksOf = (number: number): string[] =>
  [...stepOf(number).matchAll(/```\w*\n([^]*?)```/g)].map(([, text]) => text!);

const linesOf = (text: string): string[] => text.split('\n').filter((line) => line.trim() !== '');

let copy: string;
beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), 'first-change-'));
  for (const name of ['src', 'test', 'docs', 'gen', 'package.json', 'tsconfig.json', 'jest.config.js'])
    cpSync(join(ROOT, name), join(copy, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
});
afterAll(() => rmSync(copy, { recursive: true }));

/** Replaces a text that stands once in a file of the copy. */
function edit(path: string, before: string | RegExp, after: string): void {
  const text = readFileSync(join(copy, path), 'utf8');
  const parts = text.split(before);
  expect([path, before, parts.length]).toEqual([path, before, 2]);
  writeFileSync(
    join(copy, path),
    text.replace(before, () => after),
  );
}

/** Runs unit tests of the copy, and gives what they print. */
function run(files: readonly string[], env: Readonly<Record<string, string>> = {}): string {
  const jest = 'node_modules/jest/bin/jest.js';
  const args = [jest, '--selectProjects', 'unit', '--runInBand', '--runTestsByPath', ...files];
  const { stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: copy,
    env: { ...process.env, ...env },
    encoding: 'utf8',
  });
  return stdout + stderr;
}

/** Expects each line of a quotation in what was printed, blanks at the begin and the end left out. */
function expectPrinted(printed: string, quoted: string): void {
  const lines = new Set(printed.split('\n').map((line) => line.trim()));
  expect(linesOf(quoted).filter((line) => !lines.has(line.trim()))).toEqual([]);
}

test('the search of step 1 finds the files that the step names', () => {
  const words = /`grep (-rnE '\S+' src docs)`/.exec(stepOf(1))![1]!.replaceAll("'", '').split(' ');
  const found = spawnSync('grep', words, { cwd: ROOT, encoding: 'utf8' }).stdout;
  const named = [...stepOf(1).matchAll(/`((?:src|docs)\/[^`]+)`/g)].map(([, path]) => path!);
  expect(named.length).toBeGreaterThan(1);
  for (const path of named) expect(found).toContain(`${path}:`);
});

test('each step leads to what the page says', () => {
  const [rows = '', failure = ''] = blocksOf(2);
  edit(STATIC_TEST, "\n`('$name: $count -> $want'", `\n${rows}\`('$name: $count -> $want'`);
  expectPrinted(run([STATIC_TEST]), failure);

  const places = linesOf(blocksOf(3)[0]!).map((line) => /^(.*?), *\/\/ in (\w+)|^(.*?;) *\/\/ in (\w+)/.exec(line)!);
  for (const [, value, table, field, type] of places) {
    if (type)
      edit('src/core/model/settings.ts', `export interface ${type} {\n`, `export interface ${type} {\n${field}\n`);
    else edit('src/core/model/settings.ts', new RegExp(`(?<=^export const ${table}\\b.*[{[]\\n)`, 'm'), `${value},\n`);
  }

  const [line = '', refusal = ''] = blocksOf(4);
  const chooser = 'src/core/policy/allocate-cpus.ts';
  edit(chooser, '\n  if (fullPcpusOnly && !canBeWholeCores(', `\n${line}  if (fullPcpusOnly && !canBeWholeCores(`);
  edit(chooser, "refuseSplitCores } from './refusals';", "refuseOddNumber, refuseSplitCores } from './refusals';");
  const beside = '\n/** full-pcpus-only, and the request would leave half a core. */\n';
  edit('src/core/policy/refusals.ts', beside, `\n${refusal}${beside}`);
  expectPrinted(
    run([STATIC_TEST]),
    /`(Tests: +\d+ passed, \d+ total)`/.exec(stepOf(4))![1]!.replace('Tests: ', 'Tests:       '),
  );

  expectPrinted(run(PAGE_TESTS), blocksOf(5)[0]!);

  const [example = '', block = ''] = blocksOf(6);
  const chapter = '### `even-cpus-only`\n\nAn even number of CPUs.\n\n<!-- example: even-cpus-only -->\n```\n```\n';
  edit('docs/policies.md', '\n### `full-pcpus-only`\n', `\n${chapter}\n### \`full-pcpus-only\`\n`);
  edit(
    'docs/concepts.md',
    '\n| [`full-pcpus-only`]',
    '\n| [`even-cpus-only`](policies.md#even-cpus-only) | even |\n| [`full-pcpus-only`]',
  );
  edit('test/docs/policies.test.ts', /(?<=^const EXAMPLES\b.*\{\n)/m, example);
  run(PAGE_TESTS, { UPDATE_DOCS: '1' });
  expect(readFileSync(join(copy, 'docs/policies.md'), 'utf8')).toContain(
    `<!-- example: even-cpus-only -->\n\`\`\`\n${block}\`\`\``,
  );
  expect(run(PAGE_TESTS)).toMatch(/^Tests: +\d+ passed, \d+ total$/m);
}, 120_000);

test('npm run unit takes the names of files: it runs the tests of one file', () => {
  const args = ['run', '--silent', 'unit', '--', '--listTests', STATIC_TEST];
  const { stdout } = spawnSync('npm', args, { cwd: ROOT, encoding: 'utf8' });
  expect(stdout.split('\n').filter((line) => line.startsWith('/'))).toEqual([join(ROOT, STATIC_TEST)]);
});
