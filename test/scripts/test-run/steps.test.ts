import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadScript } from '../../support/load-script';
import type { Step } from './types';

interface Steps {
  listSteps(): readonly Step[];
  listFurtherSteps(root: string): readonly Step[];
}

const root = join(__dirname, '../../..');
let steps: Steps;
beforeAll(async () => {
  steps = await loadScript<Steps>('test-run/steps.mjs');
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
