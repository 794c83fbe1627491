import { matchShown, readPageCommands, type Values } from './page-commands';

const block = (language: string, ...lines: string[]): string => ['```' + language, ...lines, '```', ''].join('\n');

test('given a page, then each block has its section, its line, who runs it, and what the page shows below it', () => {
  const page = [
    '# One\n',
    block('bash', 'echo a', '# no heading') + block('text', 'a'),
    '## Two\n',
    `<!-- on the node -->\n${block('bash', 'ls')}`,
    `<!-- not run by the test of this page -->\n${block('bash', 'make')}`,
  ].join('\n');
  expect(readPageCommands(page)).toEqual([
    { section: 'One', line: 4, commands: 'echo a\n# no heading', shown: 'a', runBy: 'operator' },
    { section: 'Two', line: 15, commands: 'ls', runBy: 'node' },
    { section: 'Two', line: 20, commands: 'make', runBy: 'nobody' },
  ]);
});

test.each`
  given                                     | page
  ${'a block in another language'}          | ${block('sh', 'echo')}
  ${'a manifest that no command applies'}   | ${block('yaml', 'kind: Pod')}
  ${'a block without a language'}           | ${block('', 'echo')}
  ${'output above all commands'}            | ${block('text', 'a')}
  ${'output below other text'}              | ${block('bash', 'a') + '\nIt prints:\n\n' + block('text', 'a')}
  ${'a second output of the same commands'} | ${block('bash', 'a') + block('text', 'a') + block('text', 'a')}
  ${'a block in a list'}                    | ${'- a\n\n  ```sh\n  echo\n  ```\n'}
  ${'an indented block'}                    | ${'text:\n\n    echo\n'}
  ${'a block without an end'}               | ${'```bash\necho\n'}
`('given $given, then the page is refused', ({ page }: { page: string }) => {
  expect(() => readPageCommands(page)).toThrow(/block/);
});

test.each`
  given                               | output              | shown                     | known            | want
  ${'the same text'}                  | ${'a.b (c)\n'}      | ${'a.b (c)'}              | ${{}}            | ${{}}
  ${'other spaces and tabs'}          | ${'a:\tb  c\n\nd'}  | ${'a: b c\n\nd'}          | ${{}}            | ${{}}
  ${'a placeholder'}                  | ${'CPUs: 3'}        | ${'CPUs: <cpu>'}          | ${{}}            | ${{ cpu: '3' }}
  ${'the known value of one'}         | ${'CPUs: 3'}        | ${'CPUs: <cpu>'}          | ${{ cpu: '3' }}  | ${{ cpu: '3' }}
  ${'the same value twice'}           | ${'3 of 3'}         | ${'<cpu> of <cpu>'}       | ${{ node: 'n' }} | ${{ node: 'n', cpu: '3' }}
  ${'a list of CPUs'}                 | ${'0,2-7 n'}        | ${'<others> <node>'}      | ${{}}            | ${{ others: '0,2-7', node: 'n' }}
  ${'two values of one that is free'} | ${'1.2.3, 1.2.4+x'} | ${'<version>, <version>'} | ${{}}            | ${{}}
  ${'text that is left out'}          | ${'a and more'}     | ${'a…'}                   | ${{}}            | ${{}}
  ${'lines that are left out'}        | ${'a\nb\nc\nd'}     | ${'a\n…\nd'}              | ${{}}            | ${{}}
  ${'no line that is left out'}       | ${'a\nd'}           | ${'…\na\n  …\nd\n…'}      | ${{}}            | ${{}}
`(
  'given $given, then the output is what is shown',
  ({ output, shown, known, want }: Record<'output' | 'shown', string> & Record<'known' | 'want', Values>) => {
    expect(matchShown(output, shown, known)).toEqual(want);
  },
);

test.each`
  given                              | output         | shown               | known
  ${'other text'}                    | ${'a'}         | ${'b'}              | ${{}}
  ${'a letter for the dot'}          | ${'axb'}       | ${'a.b'}            | ${{}}
  ${'one line more'}                 | ${'a\nb'}      | ${'a'}              | ${{}}
  ${'one line less'}                 | ${'a'}         | ${'a\nb'}           | ${{}}
  ${'another order'}                 | ${'b\na'}      | ${'…\na\nb'}        | ${{}}
  ${'no space'}                      | ${'ab'}        | ${'a b'}            | ${{}}
  ${'text that does not fit'}        | ${'CPUs: 2-3'} | ${'CPUs: <cpu>'}    | ${{}}
  ${'another value than before'}     | ${'CPUs: 3'}   | ${'CPUs: <cpu>'}    | ${{ cpu: '33' }}
  ${'two values of one that is not'} | ${'3 of 4'}    | ${'<cpu> of <cpu>'} | ${{}}
  ${'nothing'}                       | ${''}          | ${'a…'}             | ${{}}
`(
  'given $given, then the output is not what is shown',
  ({ output, shown, known }: Record<'output' | 'shown', string> & { known: Values }) => {
    expect(matchShown(output, shown, known)).toBeUndefined();
  },
);

test('given a placeholder that nobody knows, then an error names it', () => {
  expect(() => matchShown('a', '<name>')).toThrow('<name> is no placeholder');
});
