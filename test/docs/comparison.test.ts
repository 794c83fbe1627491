import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { listBrokenReferences, readPage, ROOT } from './markdown';

const page = readPage('comparison.md');

interface Table {
  readonly heading: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** The cells of a row of a table. */
const cellsOf = (line: string): string[] =>
  line
    .slice(1, -1)
    .split('|')
    .map((cell) => cell.trim());

/** The tables below the headings of the page, without the one above all headings. */
const tables: readonly Table[] = page
  .split('\n## ')
  .slice(1)
  .flatMap((chapter) => {
    const lines = chapter.split('\n');
    const [head, rule, ...rows] = lines.filter((line) => line.startsWith('|')).map(cellsOf);
    return head && rule ? [{ heading: lines[0]!, head, rows: [rule, ...rows] }] : [];
  });

const featureTables = tables.filter(({ heading }) => heading !== 'Project');
const features = featureTables.flatMap(({ rows }) => rows.slice(1));

test('the page has the tables that it is made of', () => {
  expect(tables.map(({ heading }) => heading)).toEqual([
    'Policy',
    'Live changes',
    'Proof',
    'Operation',
    'Scheduling',
    'Project',
  ]);
});

test('each row of each table has the columns of the first one, filled in', () => {
  const columns = ['kubelet', 'balloons', 'topology-aware', 'dra-driver-cpu', 'koordlet', 'crane-agent', 'cpusetd'];
  for (const { heading, head, rows } of tables) {
    expect([heading, head.slice(1)]).toEqual([heading, columns]);
    const faulty = rows.filter((cells) => cells.length !== head.length || cells.includes(''));
    expect([heading, faulty]).toEqual([heading, []]);
  }
});

test('each cell of a feature says yes, partly or no, and the dash is for the other projects', () => {
  const answer = /^\[?(?:yes|partly|no)\b/;
  const faulty = features.flatMap(([feature, ...cells]) =>
    cells
      .filter((cell, i) => !answer.test(cell) && (cell !== '–' || i === cells.length - 1))
      .map((cell) => `${feature!}: ${cell}`),
  );
  expect(faulty).toEqual([]);
  const listed = features.map(([feature]) => feature);
  expect([...new Set(listed)]).toEqual(listed);
});

test('each yes and partly of cpusetd links to a page of docs, a test or the results of a run, and no other cell links', () => {
  const faulty: string[] = [];
  for (const [feature, ...cells] of features) {
    const own = cells.at(-1)!;
    const targets = [...own.matchAll(/\]\(([^)]+)\)/g)].map(([, target]) => target!);
    const isClaim = /^\[?(?:yes|partly)\b/.test(own);
    const areProofs = targets.every((target) =>
      /^(?:[\w-]+\.md(?:#|$)|\.\.\/test\/.*(?:\.test\.ts$|\/RESULTS\.md(?:#|$)))/.test(target),
    );
    if (isClaim !== targets.length > 0 || !areProofs || listBrokenReferences('docs/comparison.md', own).length > 0)
      faulty.push(`${feature!}: ${own}`);
    for (const cell of cells.slice(0, -1)) if (cell.includes('](')) faulty.push(`${feature!}: ${cell}`);
  }
  expect(faulty).toEqual([]);
});

test('the table of versions has a row for each column, with a date or a version', () => {
  const [, , ...rows] = page
    .split('\n## ')[0]!
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map(cellsOf);
  const columns = tables[0]!.head.slice(1);
  expect(rows.flatMap(([names]) => names!.split(', '))).toEqual(columns);
  expect(rows.filter(([, , version]) => !/\d/.test(version!))).toEqual([]);
});

test('the version of cpusetd on the page is that of the package', () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  const [, shown] = /^\| cpusetd \| .* \| ([\d.]+), \d{4}-\d\d-\d\d \|$/m.exec(page) ?? [];
  expect(shown).toBe(version);
});

test('the memory that the page names is the least and the most of the table of measurements', () => {
  const [, table = ''] = readPage('performance.md').split('\n| resident, MiB');
  const rows = table.split('\n').filter((line) => /^\| with(?:out)? (?:an )?API server/.test(line));
  const figures = rows.flatMap((row) => cellsOf(row).slice(1).map(Number));
  expect(figures).toHaveLength(6);
  const range = `${Math.round(Math.min(...figures))} to ${Math.round(Math.max(...figures))} MiB`;
  const named = [...page.replaceAll(/\s+/g, ' ').matchAll(/\d+ to \d+ MiB/g)].map(([text]) => text);
  expect(named).toEqual([range, range]);
});

test('every project has its chapter under "When to take something else", and what nobody else has is three lines at most', () => {
  const [, chapter = ''] = page.split('\n## When to take something else\n');
  const headings = [...chapter.matchAll(/^### (.*)$/gm)].map(([, heading]) => heading);
  expect(headings).toEqual([
    "The kubelet's CPU manager",
    'nri-plugins: balloons',
    'nri-plugins: topology-aware',
    'dra-driver-cpu',
    'Koordinator',
    'Crane',
  ]);
  const [, alone = ''] = page.split('\n## What nobody else has\n');
  const lines = alone
    .split('\n## ')[0]!
    .split('\n')
    .filter((line) => line.startsWith('- '));
  expect(lines.length).toBeGreaterThan(0);
  expect(lines.length).toBeLessThanOrEqual(3);
});
