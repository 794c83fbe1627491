import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadScript } from '../../support/load-script';

interface E2eFiles {
  readonly e2eFiles: readonly {
    readonly name: string;
    readonly group: string;
    readonly suites: readonly string[];
    readonly byHand?: readonly string[];
    readonly because?: string;
  }[];
  listE2eSteps(): readonly { readonly name: string; readonly suites: readonly string[]; readonly files: string[] }[];
}

const root = join(__dirname, '../../..');
const allSuites = ['trixie', 'sid', 'release', 'crio'];
let e2eFiles: E2eFiles['e2eFiles'];
let steps: ReturnType<E2eFiles['listE2eSteps']>;
beforeAll(async () => {
  const script = await loadScript<E2eFiles>('test-run/e2e-files.mjs');
  e2eFiles = script.e2eFiles;
  steps = script.listE2eSteps();
});

const paths = readdirSync(join(root, 'test/e2e'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.ts'))
  .map((file) => `test/e2e/${file}`)
  .sort();
const pathOf = (name: string): string => `test/e2e/${name}.test.ts`;
const readFile = (name: string): string => readFileSync(join(root, pathOf(name)), 'utf8');
const byOrder = (names: readonly string[]): string[] => allSuites.filter((suite) => names.includes(suite));

/** The runtimes that a file defines tests for, as its source says; none when it needs none. */
function readSuites(text: string): string[] {
  if (/\bonEachRuntime\(/.test(text)) return allSuites;
  const lists = [...text.matchAll(/\bonRuntimes\(\s*\[([^\]]*)\]/g)].flatMap(([, list = '']) => list.split(/,\s*/));
  const single = [...text.matchAll(/\brequireRuntime\(('\w+')\)/g)].map(([, name = '']) => name);
  return byOrder([...lists, ...single].map((name) => name.slice(1, -1)));
}

test('each end-to-end test file has one row, and each row has a file', () => {
  expect(e2eFiles.map(({ name }) => pathOf(name)).sort()).toEqual(paths);
});

test('a row has the runtimes that its file defines tests for, so that no runtime gets a file without a test', () => {
  const read = e2eFiles.map(({ name }) => [name, readSuites(readFile(name))]);
  expect(e2eFiles.map(({ name, suites, byHand = [] }) => [name, byOrder([...suites, ...byHand])])).toEqual(read);
  for (const { name } of e2eFiles) {
    const calls = [...readFile(name).matchAll(/\b(onRuntimes|requireRuntime)\(\s*(.)/g)];
    expect([name, calls.filter(([, , first]) => first !== '[' && first !== "'")]).toEqual([name, []]); // a variable is not read above
  }
});

test('a file for more than one runtime has a sentence that says what depends on it; another has none', () => {
  for (const { name, suites, byHand = [], because } of e2eFiles)
    if (suites.length + byHand.length > 1)
      expect([name, because]).toEqual([name, expect.stringMatching(/^[A-Z].{30,}\.$/)]);
    else expect([name, because]).toEqual([name, undefined]);
});

test('only critest is run by hand on a runtime, with the command of the page about the proxy', () => {
  expect(e2eFiles.filter(({ byHand }) => byHand !== undefined)).toMatchObject([
    { name: 'critest', byHand: ['trixie', 'crio'] },
  ]);
  const page = readFileSync(join(root, 'docs/cri-proxy.md'), 'utf8');
  expect(page).toContain('CPUSETD_SUITES=trixie,crio npm run e2e -- --testPathPatterns critest');
});

test('each runtime has the files whose claims depend on it', () => {
  const common = ['nri', 'nri-plugins-together', 'examples', 'drift', 'kube', 'check', 'cpu-identity', 'faults/faults'];
  const proxied = ['rig', 'proxy', 'proxy-transparency'];
  const wanted: Readonly<Record<string, readonly string[]>> = {
    trixie: [...common, ...proxied, 'proxy-faults', 'debian-package', 'demo', 'rig-parts'],
    sid: [...common, ...proxied, 'proxy-faults', 'required-plugin', 'node-versions'],
    release: [...common, 'required-plugin', 'cri-suite', 'critest'],
    crio: [...common, ...proxied, 'cri-suite', 'audit'],
  };
  for (const [suite, names] of Object.entries(wanted)) {
    const files = e2eFiles.filter(({ suites }) => suites.includes(suite)).map(({ name }) => name);
    expect([suite, files]).toEqual([suite, expect.arrayContaining([...names])]);
  }
});

test('each file runs once on each of its runtimes, and once when it needs none', () => {
  const runs = steps.flatMap(({ suites, files }) => files.flatMap((file) => suites.map((suite) => `${file} ${suite}`)));
  expect(new Set(runs).size).toBe(runs.length);
  for (const { name, suites } of e2eFiles) {
    const inSteps = steps.filter(({ files }) => files.includes(pathOf(name)));
    if (suites.length === 0) expect([name, inSteps.length]).toEqual([name, 1]);
    for (const suite of suites)
      expect([name, suite, inSteps.filter(({ suites: those }) => those.includes(suite)).length]).toEqual([
        name,
        suite,
        1,
      ]);
  }
  expect(new Set(steps.map(({ name }) => name)).size).toBe(steps.length);
  expect(steps.every(({ files }) => files.length > 0)).toBe(true);
});

test.each`
  name                 | text                                                      | want
  ${'each runtime'}    | ${"onEachRuntime('x', (suite) => {"}                      | ${allSuites}
  ${'some of them'}    | ${"onRuntimes(\n  ['sid', 'crio'],\n  'x', (suite) => {"} | ${['sid', 'crio']}
  ${'one or another'}  | ${"requireRuntime('sid')('x'; requireRuntime('trixie')("} | ${['trixie', 'sid']}
  ${'what needs none'} | ${"describe('x', () => {"}                                | ${[]}
`('the source of a file with $name is read right', ({ text, want }: { text: string; want: string[] }) => {
  expect(readSuites(text)).toEqual(want);
});
