import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { readTable, ROOT } from './markdown';

const page = readFileSync(join(ROOT, 'SECURITY.md'), 'utf8');
const rows = readTable(page, '## Each promise and its test').map(
  ([promise = '', file = '', title = '']) => [promise, file, title] as const,
);

/** True for a test of this title, or one that begins with a number of cases: `${COUNT} cases`. */
function hasTest(text: string, title: string): boolean {
  return [`'${title}'`, `\`${title}\``].some((quoted) => text.includes(quoted)) || text.includes(`} ${title}\``);
}

test.each(rows)('%s: its test exists', (_promise, file, title) => {
  expect(existsSync(join(ROOT, file))).toBe(true);
  expect({ title, exists: hasTest(readFileSync(join(ROOT, file), 'utf8'), title) }).toEqual({ title, exists: true });
});

test('each promise and each title stands there once', () => {
  for (const column of [0, 2]) expect(new Set(rows.map((row) => row[column])).size).toBe(rows.length);
});

test('every file that the page names as a check has a promise in the table', () => {
  const [text = ''] = page.split('\n## Each promise and its test');
  const named = [...new Set([...text.matchAll(/`(test\/[\w/.-]+)`/g)].map(([, path]) => path!))];
  expect(named.length).toBeGreaterThan(10);
  const inTable = (path: string): boolean => rows.some(([, file]) => file === path || file.startsWith(`${path.replace(/\/$/, '')}/`)); // prettier-ignore
  expect(named.filter((path) => !inTable(path))).toEqual([]);
  for (const path of named.filter((each) => statSync(join(ROOT, each)).isDirectory()))
    expect(readdirSync(join(ROOT, path)).some((name) => name.endsWith('.test.ts'))).toBe(true);
});

test('given a title that no test has, then it is found out', () => {
  const text = "test('a is b', () => undefined); test(`${N} cases of a`, () => undefined);";
  expect(['a is b', 'cases of a', 'a is', 'b'].map((title) => hasTest(text, title))).toEqual([
    true,
    true,
    false,
    false,
  ]);
});
