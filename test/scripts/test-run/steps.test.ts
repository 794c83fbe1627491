import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadScript } from '../../support/load-script';
import type { Step } from './types';

interface E2eFiles {
  readonly listE2eSteps: () => readonly {
    readonly name: string;
    readonly suites: readonly string[];
    readonly files: readonly string[];
  }[];
}
interface Steps {
  listSteps(): readonly Step[];
  listAllSteps(): readonly Step[];
}

const root = join(__dirname, '../../..');
let steps: Steps;
beforeAll(async () => {
  steps = await loadScript<Steps>('test-run/steps.mjs');
});

test('names of steps are their own, and a step needs only what comes before it in the same command', () => {
  const [first, all] = [steps.listSteps(), steps.listAllSteps()];
  const names = [...first, ...all].map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  for (const list of [first, all])
    for (const [index, { needs = [] }] of list.entries())
      expect(list.slice(0, index).map(({ name }) => name)).toEqual(expect.arrayContaining([...needs]));
});

test('each step of end-to-end tests of the table is a step once, and says on which runtimes it runs', async () => {
  const { listE2eSteps } = await loadScript<E2eFiles>('test-run/e2e-files.mjs');
  const all = [...steps.listSteps(), ...steps.listAllSteps()].filter(({ name }) => name.startsWith('e2e '));
  const show = (name: string, suites: string | undefined, files: number) => `${name} on ${suites}: ${files} files`;
  const wanted = listE2eSteps().map(({ name, suites, files }) => show(`e2e ${name}`, suites.join(), files.length));
  const countFiles = ({ command }: Step) => command.filter((word) => word.endsWith('.test.ts')).length;
  expect(all.map((step) => show(step.name, step.env?.['CPUSETD_SUITES'], countFiles(step))).sort()).toEqual(
    wanted.sort(),
  );
});

test('npm test comes first and alone: the steps after it use its build', () => {
  const [first] = steps.listAllSteps();
  expect(first).toMatchObject({ command: ['npm', 'test'], printsItself: true });
  expect(first?.cpus).toBeUndefined();
});

test('the steps that may run before the packages are installed load none of them', () => {
  const folder = mkdtempSync(join(tmpdir(), 'cpusetd-bare-'));
  try {
    cpSync(join(root, 'scripts'), join(folder, 'scripts'), { recursive: true });
    const early = steps.listSteps().filter(({ needs }) => needs === undefined);
    expect(early.map(({ name }) => name)).toEqual(['dependencies', 'Debian containerds']);
    const scripts = early
      .flatMap(({ command }) => command)
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
