import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { listBrokenReferences, listFiles, ROOT } from './markdown';

test('every link, anchor and path of the pages and of deploy leads somewhere', () => {
  const files = listFiles();
  expect(files).toEqual(
    expect.arrayContaining(['docs/design.md', 'deploy/components/api-server/rbac.yaml', 'src/core/README.md']),
  );
  const broken = files.flatMap((file) =>
    listBrokenReferences(file, readFileSync(join(ROOT, file), 'utf8')).map((reference) => `${file}: ${reference}`),
  );
  expect(broken).toEqual([]);
});

test('every page that the code names is there, in comments and in messages', () => {
  const files = ['src', 'scripts', 'bench', 'examples'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(?:ts|mjs)$/.test(name))
      .map((name) => join(folder, name)),
  );
  expect(files).toEqual(expect.arrayContaining(['src/admin/summary/daemon.ts', 'scripts/machines/run.mjs']));
  const broken = files.flatMap((file) =>
    listBrokenReferences(file, readFileSync(join(ROOT, file), 'utf8')).map((reference) => `${file}: ${reference}`),
  );
  expect(broken).toEqual([]);
});

test.each`
  reference                              | text
  ${'a link to no file'}                 | ${'[a](gone.md)'}
  ${'a link to no folder'}               | ${'[a](../gone)'}
  ${'an anchor that no heading has'}     | ${'[a](#gone)'}
  ${'an anchor of another page'}         | ${'[a](topology.md#gone)'}
  ${'an anchor of a heading in a block'} | ${'```\n# gone\n```\n\n[a](#gone)'}
  ${'a second anchor of one heading'}    | ${'# Once\n\n[a](#once-1)'}
  ${'a path in backticks'}               | ${'see `src/gone.ts`'}
  ${'a path below src'}                  | ${'see `core/gone.ts`'}
  ${'a wildcard that fits no file'}      | ${'see `src/gone*.ts`'}
  ${'a placeholder in no folder'}        | ${'see `src/gone/NAME.ts`'}
`('given $reference, then it is listed', ({ text }: { text: string }) => {
  expect(listBrokenReferences('docs/design.md', text)).toHaveLength(1);
});

test.each`
  reference                            | text
  ${'a file and a folder'}             | ${'[a](topology.md) [b](../src/core)'}
  ${'a page of the web'}               | ${'[a](https://example.com/gone#gone)'}
  ${'anchors of both pages'}           | ${'# The `one`, and two\n\n[a](#the-one-and-two) [b](topology.md#for-programs)'}
  ${'an anchor of a repeated heading'} | ${'# Once\n# Once\n\n[a](#once-1)'}
  ${'paths below src'}                 | ${'`core/cpuset` `core/errors.ts` `core/errors` `text/plain`'}
  ${'paths and wildcards'}             | ${'`src/core/` `docs/*.md` `docs/{design,topology}.md` `src/<folder>/README.md` `docs/NAME.md`'}
  ${'text in a block'}                 | ${'```\n[a](gone.md) `src/gone.ts`\n```'}
`('given $reference, then nothing is listed', ({ text }: { text: string }) => {
  expect(listBrokenReferences('docs/design.md', text)).toEqual([]);
});

test('given a comment of a manifest that names a page, then the page and its anchor are checked', () => {
  expect(listBrokenReferences('deploy/a.yaml', '# See docs/design.md, docs/design.md#words and docs/gone.md')).toEqual([
    'docs/gone.md',
  ]);
});
