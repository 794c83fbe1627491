import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadScript } from '../../support/load-script';
import type { Step } from './types';

interface Steps {
  listSteps(): readonly Step[];
  listFurtherSteps(root: string): readonly Step[];
  e2eGroups(root: string): Readonly<Record<string, readonly string[]>>;
}

const root = join(__dirname, '../../..');
let steps: Steps;
beforeAll(async () => {
  steps = await loadScript<Steps>('test-run/steps.mjs');
});

const e2eFiles = readdirSync(join(root, 'test/e2e'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.ts'))
  .map((file) => `test/e2e/${file}`)
  .sort();
/** The end-to-end test files of the steps that run on these suites, as often as they run. */
const listRun = (suites: string): readonly string[] =>
  [...steps.listSteps(), ...steps.listFurtherSteps(root)]
    .filter(({ env }) => env?.['CPUSETD_SUITES'] === suites)
    .flatMap(({ command }) => (typeof command === 'function' ? command('results.json') : command))
    .filter((word) => word.endsWith('.test.ts'))
    .sort();

const debian = ['trixie', 'sid'];
/** The runtimes that a file of end-to-end tests names; none when it needs none. */
function listSuites(file: string): readonly string[] {
  const text = readFileSync(join(root, file), 'utf8');
  if (/\bonEachRuntime\(/.test(text)) return [...debian, 'release', 'crio'];
  const lists = [...text.matchAll(/\[([^\]]*)\] satisfies Suite\[\]/g)].flatMap(([, list = '']) => list.split(', '));
  const single = [...text.matchAll(/\brequireRuntime\(('\w+')\)/g)].map(([, name = '']) => name);
  return [...lists, ...single].map((name) => name.slice(1, -1));
}
const listNaming = (suite: string) => e2eFiles.filter((file) => listSuites(file).includes(suite));
const toFile = (name: string): string => `test/e2e/${name}.test.ts`;

test("each end-to-end test file that has tests for Debian's runtimes, or for none, runs in exactly one step on them", () => {
  const isForOthers = (file: string): boolean => {
    const suites = listSuites(file);
    return suites.length > 0 && !suites.some((suite) => debian.includes(suite));
  };
  expect(listRun('trixie,sid')).toEqual(e2eFiles.filter((file) => !isForOthers(file)));
  expect(Object.values(steps.e2eGroups(root)).flat().sort()).toEqual(e2eFiles);
});

test('each that has tests for a release of containerd or for CRI-O runs once on it, and all steps say on what they run', () => {
  expect(listRun('release')).toEqual(listNaming('release'));
  expect(listRun('release')).toEqual(expect.arrayContaining(['nri', 'required-plugin', 'cri-suite'].map(toFile)));
  expect(listRun('crio')).toEqual(listNaming('crio'));
  expect(listRun('crio')).toEqual(expect.arrayContaining(['nri', 'proxy', 'cri-suite'].map(toFile)));
  for (const step of [...steps.listSteps(), ...steps.listFurtherSteps(root)])
    if (step.name.startsWith('e2e')) expect(['trixie,sid', 'release', 'crio']).toContain(step.env?.['CPUSETD_SUITES']);
});

test('names of steps are their own, and a step needs only what comes before it in the same command', () => {
  const [first, further] = [steps.listSteps(), steps.listFurtherSteps(root)];
  const names = [...first, ...further].map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  for (const list of [first, further])
    for (const [index, { needs = [] }] of list.entries())
      expect(list.slice(0, index).map(({ name }) => name)).toEqual(expect.arrayContaining([...needs]));
});

test('the steps that may run before the packages are installed load none of them', () => {
  const folder = mkdtempSync(join(tmpdir(), 'cpusetd-bare-'));
  try {
    cpSync(join(root, 'scripts'), join(folder, 'scripts'), { recursive: true });
    const early = steps.listSteps().filter(({ needs }) => needs === undefined);
    expect(early.map(({ name }) => name)).toEqual(['dependencies', 'containerd 1.7 and 2.x of Debian']);
    const scripts = early
      .flatMap(({ command }) => (typeof command === 'function' ? command('results.json') : command))
      .flatMap((word) => word.match(/\bscripts\/[\w/-]+\.mjs\b/g) ?? []);
    expect(scripts).toEqual(['scripts/ensure-dependencies.mjs', 'scripts/test-run/prepare.mjs']);
    for (const script of scripts) {
      // Without arguments, both do nothing but load what they import.
      const { status, stderr } = spawnSync(process.execPath, [join(folder, script)], { encoding: 'utf8' });
      expect({ script, status, stderr }).toEqual({ script, status: 0, stderr: '' });
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
