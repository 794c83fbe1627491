import { existsSync, readdirSync } from 'node:fs';
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

test('each end-to-end test file runs in exactly one step', () => {
  const run = Object.values(steps.e2eGroups(root)).flat().sort();
  const there = readdirSync(join(root, 'test/e2e'), { recursive: true, encoding: 'utf8' });
  expect(run).toEqual(there.flatMap((file) => (file.endsWith('.test.ts') ? [`test/e2e/${file}`] : [])).sort());
  expect(run.filter((file) => !existsSync(join(root, file)))).toEqual([]);

  const commands = [...steps.listSteps(), ...steps.listFurtherSteps(root)].flatMap(({ command }) =>
    typeof command === 'function' ? command('results.json') : command,
  );
  expect(commands.filter((word) => word.endsWith('.test.ts')).sort()).toEqual(run);
});

test('names of steps are their own, and a step needs only what comes before it in the same command', () => {
  const [first, further] = [steps.listSteps(), steps.listFurtherSteps(root)];
  const names = [...first, ...further].map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  for (const list of [first, further])
    for (const [index, { needs = [] }] of list.entries())
      expect(list.slice(0, index).map(({ name }) => name)).toEqual(expect.arrayContaining([...needs]));
});
