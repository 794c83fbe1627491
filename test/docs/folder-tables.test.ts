import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './markdown';

// The READMEs of scripts/, bench/ and test/ against the folders.

/** The names in the first column of the table with this head. */
function readNames(folder: string, head: string): string[] {
  const [, table] = readFileSync(join(ROOT, folder, 'README.md'), 'utf8').split(`\n${head}\n|---|---|\n`);
  if (table === undefined) throw new Error(`${folder}/README.md has no table with the head "${head}"`);
  const rows = table.split('\n\n')[0]!.trimEnd().split('\n');
  return rows.flatMap((row) => [...row.split('|')[1]!.matchAll(/`([^`]+)`/g)].map(([, name]) => name!)).sort();
}

/** The entries of a folder but its README; a folder has a slash at its end. */
function listEntries(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true })
    .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
    .filter((name) => name !== 'README.md')
    .sort();
}

const isFolder = (name: string): boolean => name.endsWith('/');

test('the README of scripts lists every entry of the folder, and no other', () => {
  expect(readNames('scripts', '| entry | what it does |')).toEqual(listEntries('scripts'));
});

const describedFolders = [
  'cluster',
  'dashboards',
  'docs',
  'go-programs',
  'machines',
  'play',
  'publish',
  'release',
  'runtime',
  'shared',
  'test-run',
];
test.each(describedFolders)('the README of scripts/%s lists every entry of the folder, and no other', (name) => {
  expect(readNames(`scripts/${name}`, '| file | what it does |')).toEqual(listEntries(`scripts/${name}`));
});

test('the README of test lists every folder of it, and no other', () => {
  expect(readNames('test', '| folder | contents |')).toEqual(listEntries('test').filter(isFolder));
});

test('the README of bench names every entry of the folder', () => {
  const words = [...readFileSync(join(ROOT, 'bench/README.md'), 'utf8').matchAll(/[\w./*-]+/g)].map(([word]) => word);
  const isNamed = (name: string): boolean =>
    words.some((word) => (/^[\w-]+\*$/.test(word) ? name.startsWith(word.slice(0, -1)) : word === name));
  const names = listEntries('bench').map((name) => (name.endsWith('.ts') ? name.slice(0, -3) : name));
  expect(names.filter((name) => !isNamed(name) && !isNamed(`bench/${name}`))).toEqual([]);
});
