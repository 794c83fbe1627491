import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { FuzzTarget } from './fuzz-target';

const fixtures = join(__dirname, '../fixtures');
const names = readdirSync(join(__dirname, 'targets')).map((file) => basename(file, '.ts'));

/** The inputs that searches found so far (`npm run fuzz -- --keep`), and every input that once broke a target. */
function readCorpus(name: string): Buffer[] {
  const folder = join(__dirname, 'corpus', name);
  return existsSync(folder) ? readdirSync(folder).map((file) => readFileSync(join(folder, file))) : [];
}

test.each(names)('%s, given each seed and each kept input: no promise is broken', async (name) => {
  const { seeds, fuzz, maxBytes } = (await import(`./targets/${name}`)) as FuzzTarget;
  const inputs = [...seeds(fixtures).map((seed) => Buffer.from(seed)), ...readCorpus(name)];
  expect(inputs.length).toBeGreaterThan(0);
  for (const input of inputs) await fuzz(input.subarray(0, maxBytes));
});
