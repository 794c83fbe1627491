import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { listPages, splitPage } from './commands';
import { ROOT } from './markdown';

const WIDTH = 120;
const pages = listPages();

/**
 * Lines of sentences that are wider than the pages are. Tables, pictures and commands have the width that they need.
 */
function listWideLines(text: string): string[] {
  return splitPage(text)
    .prose.filter(({ text: line }) => !/^\s*(?:\||!\[|<!--)/.test(line) && line.length > WIDTH)
    .map(({ line }) => `line ${line}`);
}

/** Words of docs/concepts.md in another meaning. */
const OTHER_MEANINGS = [/\bidle (?:machine|node|time)\b/gi, /\bfragmented\b/gi, /\bunused CPUs\b/gi];

const listOtherMeanings = (text: string): string[] =>
  OTHER_MEANINGS.flatMap((words) => text.replaceAll(/\s+/g, ' ').match(words) ?? []);

const readPages = (): [string, string][] => pages.map((page) => [page, readFileSync(join(ROOT, page), 'utf8')]);

test(`sentences on pages have lines of ${WIDTH} columns at most`, () => {
  expect(pages).toEqual(expect.arrayContaining(['README.md', 'docs/concepts.md', 'docs/options.md']));
  expect(readPages().flatMap(([page, text]) => listWideLines(text).map((line) => `${page}: ${line}`))).toEqual([]);
});

test('a word has one meaning on all pages: see Words in docs/concepts.md', () => {
  expect(readPages().flatMap(([page, text]) => listOtherMeanings(text).map((words) => `${page}: ${words}`))).toEqual(
    [],
  );
});

const wide = `${'word '.repeat(24)}end`;

test.each`
  what                   | text                                   | lines
  ${'a sentence'}        | ${`One.\n\n${wide}\n`}                 | ${['line 3']}
  ${'an item of a list'} | ${`- one\n- ${wide}\n`}                | ${['line 2']}
  ${'a table'}           | ${`| ${wide} |\n|---|\n| ${wide} |\n`} | ${[]}
  ${'output'}            | ${`\`\`\`\n${wide}\n\`\`\`\n`}         | ${[]}
  ${'a command'}         | ${`    ${wide}\n`}                     | ${[]}
  ${'a picture'}         | ${`![${wide}](a.svg)\n`}               | ${[]}
`('given $what that is wide, then these are listed: $lines', ({ text, lines }: { text: string; lines: string[] }) => {
  expect(listWideLines(text)).toEqual(lines);
});

test('given a word in another meaning, also over the end of a line, then it is listed', () => {
  expect(listOtherMeanings('as on an idle\nmachine, which is fragmented')).toEqual(['idle machine', 'fragmented']);
});
