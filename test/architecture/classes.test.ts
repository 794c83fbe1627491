import { findLargeClasses, listClasses, type Exception } from './check-classes';
import { readSources } from './read-sources';

const EXCEPTIONS: readonly Exception[] = [
  {
    path: 'src/admin/metrics/metrics.ts',
    name: 'Metrics',
    reason: 'a list: one entry for each figure that is published, and a method of a line or two that counts it',
  },
  {
    path: 'src/cri/proxy/connection/proxy-connection.ts',
    name: 'ProxyConnection',
    reason:
      'owns two sockets and the order in which they end; frames, requests, answers and shutdown are in other classes',
  },
];

test('no class is larger than allowed, and each exception is needed', () => {
  const sources = readSources('src');
  expect(listClasses(sources).length).toBeGreaterThan(100);
  expect(findLargeClasses(sources, EXCEPTIONS)).toEqual([]);
});

/** A class with this number of lines and of fields. */
function classOf(given: { name?: string; lines?: number; mutable?: number; readonly?: number; head?: string }): string {
  const { name = 'Part', lines = 0, mutable = 0, readonly = 0, head = '' } = given;
  const fields = [
    ...Array.from({ length: mutable }, (_, at) => `  private m${at} = 0;`),
    ...Array.from({ length: readonly }, (_, at) => `  private readonly r${at} = 0;`),
  ];
  const rest = Array.from({ length: Math.max(0, lines - fields.length - 2) }, () => '  // a line');
  return [`${head}class ${name} {`, ...fields, ...rest, '}'].join('\n');
}

const PATH = 'src/app/part.ts';
const EXCEPTION: Exception = { path: PATH, name: 'Part', reason: '' };

test.each`
  name                                               | text                                                                               | exceptions     | want
  ${'a class has 200 lines and 8 mutable fields'}    | ${classOf({ lines: 200, mutable: 8 })}                                             | ${[]}          | ${[]}
  ${'a class has 201 lines'}                         | ${classOf({ lines: 201 })}                                                         | ${[]}          | ${[`${PATH}: Part has 201 lines, 200 are allowed`]}
  ${'a class has 9 mutable fields'}                  | ${classOf({ mutable: 9 })}                                                         | ${[]}          | ${[`${PATH}: Part has 9 mutable fields, 8 are allowed`]}
  ${'a class has 9 fields that are read-only'}       | ${classOf({ readonly: 9 })}                                                        | ${[]}          | ${[]}
  ${'a class has too much of both'}                  | ${classOf({ lines: 300, mutable: 10 })}                                            | ${[]}          | ${[`${PATH}: Part has 300 lines, 200 are allowed, and 10 mutable fields, 8 are allowed`]}
  ${'fields have names with #'}                      | ${classOf({ mutable: 9 }).replaceAll('private m', '#m')}                           | ${[]}          | ${[`${PATH}: Part has 9 mutable fields, 8 are allowed`]}
  ${'the ninth is a parameter of the constructor'}   | ${classOf({ mutable: 8 }).replace('{', '{ constructor(private last: number) {}')}  | ${[]}          | ${[`${PATH}: Part has 9 mutable fields, 8 are allowed`]}
  ${'a parameter of the constructor is read-only'}   | ${classOf({ mutable: 8 }).replace('{', '{ constructor(readonly last: number) {}')} | ${[]}          | ${[]}
  ${'a parameter of the constructor is no field'}    | ${classOf({ mutable: 8 }).replace('{', '{ constructor(last: number) {}')}          | ${[]}          | ${[]}
  ${'a comment of 201 lines is above a small class'} | ${`/*${'\n'.repeat(201)}*/${classOf({})}`}                                         | ${[]}          | ${[]}
  ${'a class in a function is too large'}            | ${`function f() { return ${classOf({ lines: 201 })}; }`}                           | ${[]}          | ${[`${PATH}: Part has 201 lines, 200 are allowed`]}
  ${'a class without a name is too large'}           | ${classOf({ name: '', lines: 201, head: 'export default ' })}                      | ${[]}          | ${[`${PATH}: a class without a name has 201 lines, 200 are allowed`]}
  ${'a large class is an exception'}                 | ${classOf({ lines: 201 })}                                                         | ${[EXCEPTION]} | ${[]}
  ${'another class of the same file is too large'}   | ${`${classOf({ lines: 201 })}\n${classOf({ name: 'Other', lines: 201 })}`}         | ${[EXCEPTION]} | ${[`${PATH}: Other has 201 lines, 200 are allowed`]}
  ${'an exception is not needed any more'}           | ${classOf({ lines: 200 })}                                                         | ${[EXCEPTION]} | ${[`${PATH}: Part needs no exception`]}
  ${'the class of an exception is gone'}             | ${classOf({ name: 'Other' })}                                                      | ${[EXCEPTION]} | ${[`${PATH}: Part needs no exception`]}
`(
  'findLargeClasses, given that $name',
  ({ text, exceptions, want }: { text: string; exceptions: readonly Exception[]; want: readonly string[] }) => {
    expect(findLargeClasses(new Map([[PATH, text]]), exceptions)).toEqual(want);
  },
);
