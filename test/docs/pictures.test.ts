import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { listFiles, ROOT } from './markdown';
import { showSession } from './node';
import { drawTerminal } from './terminal-picture';

// `npm run pictures` makes the pictures anew. That of the page is compared in test/browser/pictures.test.ts.

const FOLDER = join(ROOT, 'docs/pictures');
const COLUMNS = 100;
const TERMINALS = { 'topology.svg': 'cpusetd topology', 'status.svg': 'cpusetd status' } as const;

test.each(Object.entries(TERMINALS))('%s is what `%s` prints in a terminal', async (name, command) => {
  const picture = drawTerminal(await showSession({ commands: [command], columns: COLUMNS }), COLUMNS);
  const path = join(FOLDER, name);
  if (process.env['UPDATE_DOCS']) writeFileSync(path, picture);
  expect(readFileSync(path, 'utf8')).toBe(picture);
});

describe('all pictures', () => {
  const shown = listFiles()
    .filter((file) => file.endsWith('.md'))
    .flatMap((file) => [...readFileSync(join(ROOT, file), 'utf8').matchAll(/!\[([^\]]*)\]\(([^)]+)\)/g)])
    .map(([, alt, path]) => ({ alt: alt!, name: path!.split('pictures/')[1] }));

  test('each is on a page, and each on a page is there', () => {
    expect([...new Set(shown.map(({ name }) => name))].sort()).toEqual(readdirSync(FOLDER).sort());
  });

  test('each has less than 150 KB', () => {
    const sizes = readdirSync(FOLDER).map((name) => [name, statSync(join(FOLDER, name)).size] as const);
    expect(sizes.filter(([, size]) => size >= 150_000)).toEqual([]);
  });

  test('what is seen is also said in words', () => {
    expect(shown.filter(({ alt }) => alt.split(/\s+/).length < 8)).toEqual([]);
  });
});

test.each`
  what                        | session                    | want
  ${'a command'}              | ${'$ x y'}                 | ${['>$<', 'font-weight="bold" xml:space="preserve">x y<']}
  ${'letters with a meaning'} | ${'a <b> & c'}             | ${['>a &lt;b&gt; &amp; c<']}
  ${'a colour in a line'}     | ${'a \x1b[36mB\x1b[39m c'} | ${['x="16.0"', 'x="32.8"', 'fill="#56d4dd"', 'x="49.6"']}
`('given $what, then it is drawn', ({ session, want }: { session: string; want: string[] }) => {
  const picture = drawTerminal(session, 20);
  for (const text of want) expect(picture).toContain(text);
});

test('given a sequence that is not known, then nothing is drawn', () => {
  expect(() => drawTerminal('\x1b[96mx', 20)).toThrow('the picture knows no SGR code 96');
});
