import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findRelativeOpeners, findWideComments } from './check-comments';

const root = join(__dirname, '../..');

const folders = ['src', 'proto', 'test', 'scripts', 'bench'];
const ours = /^(?!test\/gen\/|test\/fixtures\/).*\.(?:ts|mjs)$|^proto\/(?:cpusetd\/|ttrpc).*\.proto$/;
const sources = execFileSync('git', ['ls-files', ...folders], { cwd: root, encoding: 'utf8' })
  .split('\n')
  .filter((path) => ours.test(path))
  .filter((path) => existsSync(join(root, path))) // one that was moved is listed until it is staged
  .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));

test('each comment opens with its subject or its verb, and is as wide as the code', () => {
  expect(sources.length).toBeGreaterThan(1_000);
  expect(sources.flatMap(({ path, text }) => findRelativeOpeners(path, text))).toEqual([]);
  expect(sources.flatMap(({ path, text }) => findWideComments(path, text))).toEqual([]);
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

const wide = 'word '.repeat(30);

test.each`
  name                    | text                               | faults
  ${'a comment'}          | ${`  // ${wide}`}                  | ${1}
  ${'a line of a block'}  | ${`/**\n * ${wide}\n */`}          | ${1}
  ${'a text in the code'} | ${`const a = '${wide}';`}          | ${0}
  ${'a long address'}     | ${`// https://${'a'.repeat(120)}`} | ${0}
`('findWideComments, given $name of more than 120 columns', ({ text, faults }: { text: string; faults: number }) => {
  expect(findWideComments('a.ts', text)).toHaveLength(faults);
});
