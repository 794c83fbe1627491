import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadScript } from '../../support/load-script';

interface Script {
  nameByContent(name: string, madeFrom: unknown): string;
  buildOnce(path: string, build: (building: string) => void): string;
}

interface Packages {
  readonly suite: string;
  readonly packages: readonly string[];
  readonly variant: 'extract' | 'minbase';
  readonly files?: Readonly<Record<string, { readonly text: string }>>;
}

let script: Script;
let packagesPath: (path: string, packages: Packages) => string;
let folder: string;
beforeAll(async () => {
  script = await loadScript<Script>('shared/cache.mjs');
  ({ packagesPath } = await loadScript<{ packagesPath: typeof packagesPath }>('shared/debian.mjs'));
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cache-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

test('a change of anything that a folder is made from gives another name, and the same gives the same', () => {
  const name = script.nameByContent('root', { packages: ['a'] });
  expect(name).toMatch(/^root-[0-9a-f]{12}$/);
  expect(script.nameByContent('root', { packages: ['a'] })).toBe(name);
  expect(script.nameByContent('root', { packages: ['a', 'b'] })).not.toBe(name);
});

test.each`
  change             | fields
  ${'another suite'} | ${{ suite: 'sid' }}
  ${'a package'}     | ${{ packages: ['runc', 'crun'] }}
  ${'a variant'}     | ${{ variant: 'minbase' }}
  ${'a file'}        | ${{ files: { start: { text: 'exit 1' } } }}
`('$change: the folder of Debian packages has another name', ({ fields }: { fields: Partial<Packages> }) => {
  const packages: Packages = {
    suite: 'trixie',
    packages: ['runc'],
    variant: 'extract',
    files: { start: { text: 'exit 0' } },
  };
  expect(packagesPath('/cache/root', { ...packages, ...fields })).not.toBe(packagesPath('/cache/root', packages));
});

test('a build that fails leaves nothing but its lock, and the next one builds', () => {
  const path = join(folder, 'thing');
  const fail = (building: string): never => {
    writeFileSync(building, 'half');
    throw new Error('no disk');
  };
  expect(() => script.buildOnce(path, fail)).toThrow('no disk');
  expect(readdirSync(folder)).toEqual(['thing.lock']);
  expect(script.buildOnce(path, (building) => writeFileSync(building, 'whole'))).toBe(path);
  expect(existsSync(path)).toBe(true);
});
