import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findRelativeOpeners } from './check-comments';

const root = join(__dirname, '../..');

test('each comment opens with its subject or its verb', () => {
  const folders = ['src', 'proto', 'test', 'scripts', 'bench'];
  const files = execFileSync('git', ['ls-files', ...folders], { cwd: root, encoding: 'utf8' });
  const ours = /^(?!test\/gen\/|test\/fixtures\/).*\.(?:ts|mjs)$|^proto\/(?:cpusetd\/|ttrpc).*\.proto$/;
  const paths = files.split('\n').filter((path) => ours.test(path));
  expect(paths.length).toBeGreaterThan(1_000);
  expect(paths.flatMap((path) => findRelativeOpeners(path, readFileSync(join(root, path), 'utf8')))).toEqual([]);
});

test.each`
  name                                  | text                                        | faults
  ${'the subject'}                      | ${'/** The CPUs. */ const a = 1;'}          | ${0}
  ${'a question word'}                  | ${'/** What the node has. */ const a = 1;'} | ${1}
  ${'a question word in a second line'} | ${'/**\n * How it is. */\nconst a = 1;'}    | ${1}
  ${'one inside of a function'}         | ${'const f = () => {\n// Who asks.\n};'}    | ${1}
  ${'one that goes on in a line below'} | ${'// The CPUs,\n// Where they are.\nf();'} | ${0}
  ${'one in a text'}                    | ${"const a = '// What';"}                   | ${0}
`(
  'findRelativeOpeners, given a comment that opens with $name',
  ({ text, faults }: { text: string; faults: number }) => {
    expect(findRelativeOpeners('a.ts', text)).toHaveLength(faults);
  },
);
