import { loadScript } from '../../support/load-script';

interface SourceFile {
  readonly path: string;
  readonly text: string;
}

let findRelatedTests: (
  changed: readonly string[],
  tests: readonly SourceFile[],
  indexes: readonly SourceFile[],
) => readonly string[];
beforeAll(async () => {
  ({ findRelatedTests } = await loadScript<{ findRelatedTests: typeof findRelatedTests }>(
    'test-run/related-tests.mjs',
  ));
});

const tests: readonly SourceFile[] = [
  { path: 'test/core/plan.test.ts', text: "import { plan } from '../../src/core/plan/plan';" },
  { path: 'test/core/whole.test.ts', text: "import { plan } from '../../src/core/plan';" },
  { path: 'test/core/other.test.ts', text: "import { planner } from '../../src/core/planner';" },
  { path: 'test/core/late.test.ts', text: "const late = await import('../../src/late/late');" },
  { path: 'test/scripts/a.test.ts', text: "loadScript('test-run/run-steps.mjs')" },
  { path: 'test/docs/references.test.ts', text: '' },
  { path: 'test/docs/design.test.ts', text: "readPage('docs/design.md')" },
  { path: 'test/docs/rbac.test.ts', text: '' },
  { path: 'test/docs/policies.test.ts', text: "readPage('policies.md')" },
  { path: 'test/core/policy/static.test.ts', text: "import { decide } from '../node';" },
  { path: 'test/core/policy/wide/odd.test.ts', text: '' },
];
const indexes = [{ path: 'src/core/plan/index.ts', text: "export { plan } from './plan';" }];

test.each`
  name                                                              | changed                             | want
  ${'a test that changed'}                                          | ${'test/core/other.test.ts'}        | ${['test/core/other.test.ts']}
  ${'a module: tests that import it, or the index that exports it'} | ${'src/core/plan/plan.ts'}          | ${['test/core/plan.test.ts', 'test/core/whole.test.ts']}
  ${'an index'}                                                     | ${'src/core/plan/index.ts'}         | ${['test/core/whole.test.ts']}
  ${'a module that is imported late'}                               | ${'src/late/late.ts'}               | ${['test/core/late.test.ts']}
  ${'a script: tests that name it'}                                 | ${'scripts/test-run/run-steps.mjs'} | ${['test/scripts/a.test.ts']}
  ${'a page: its tests, and those of all pages'}                    | ${'docs/design.md'}                 | ${['test/docs/references.test.ts', 'test/docs/design.test.ts']}
  ${'a page that its tests read by its name'}                       | ${'docs/policies.md'}               | ${['test/docs/references.test.ts', 'test/docs/policies.test.ts']}
  ${'a module that no test imports: the tests of its folder'}       | ${'src/core/policy/choose.ts'}      | ${['test/core/policy/static.test.ts']}
  ${'a module that no test imports, in a folder without tests'}     | ${'src/alone/alone.ts'}             | ${[]}
`('$name', ({ changed, want }: { changed: string; want: string[] }) => {
  expect(findRelatedTests([changed], tests, indexes)).toEqual(want);
});
