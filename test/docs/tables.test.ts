import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { listBrokenTables, listFiles, ROOT } from './markdown';

test('every table of the pages has a head, and rows of its width', () => {
  const broken = listFiles()
    .filter((file) => file.endsWith('.md'))
    .flatMap((file) => listBrokenTables(readFileSync(join(ROOT, file), 'utf8')).map((row) => `${file}: ${row}`));
  expect(broken).toEqual([]);
});

test.each`
  text                                     | want             | what
  ${'| a | b |\n|---|---|\n| c | d |'}     | ${[]}            | ${'a table'}
  ${'   | a |\n   |---|\n   | c |'}        | ${[]}            | ${'a table in a list'}
  ${'| a |\n|---|\n| c |\n\n| d |\n| e |'} | ${['| d |']}     | ${'a table that an empty line splits'}
  ${'| a |'}                               | ${['| a |']}     | ${'a single row'}
  ${'| a | b |\n|---|---|\n| c |'}         | ${['| c |']}     | ${'a row that is too short'}
  ${'| a |\n|---|\n| `b|c` |'}             | ${['| `b|c` |']} | ${'a bar in code that is not escaped'}
  ${'| a |\n|---|\n| `b\\|c` |'}           | ${[]}            | ${'a bar that is escaped'}
  ${'```\n| a\n```'}                       | ${[]}            | ${'a bar in a block of code'}
`('given $what, the rows without a table are listed', ({ text, want }: { text: string; want: string[] }) => {
  expect(listBrokenTables(text)).toEqual(want);
});
