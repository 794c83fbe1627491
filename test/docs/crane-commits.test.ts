import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { listFiles, ROOT } from './markdown';

// A table of differences is true of one commit of the other project: it names the one that it was read at.

const COMMITS = { 'crane-agent': '2b0ddae8', 'crane-scheduler': 'c2c0533' };
const chapters = listFiles()
  .filter((file) => file.endsWith('.md'))
  .flatMap((file) =>
    readFileSync(join(ROOT, file), 'utf8')
      .split(/\n(?=##? )/)
      .map((text) => ({ file, text })),
  );

test.each(Object.entries(COMMITS))('every table that compares with %s names the commit %s', (project, commit) => {
  const compared = chapters.filter(({ text }) => text.includes(`\n| ${project} | `));
  expect(compared.length).toBeGreaterThan(0);
  expect(compared.filter(({ text }) => !text.includes(commit)).map(({ file }) => file)).toEqual([]);
});

test('no page names another commit of Crane', () => {
  const named = chapters.flatMap(({ file, text }) =>
    [...text.matchAll(/commit ([0-9a-f]{7,40})\b/g)].map(([, commit]) => ({ file, commit })),
  );
  expect(named.filter(({ commit }) => !Object.values(COMMITS).includes(commit!))).toEqual([]);
});
