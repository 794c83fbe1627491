import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadScript } from '../../support/load-script';

interface Settings {
  readonly tags?: readonly string[];
  readonly linkerFlags?: (version: string) => readonly string[];
  readonly names?: Readonly<Record<string, string>>;
  readonly cPrograms?: Readonly<Record<string, string>>;
  readonly module?: string;
  readonly ownPrograms?: readonly string[];
  readonly testPackages?: Readonly<Record<string, string>>;
  readonly takes: string;
}
interface Recipe {
  readonly module: string;
  readonly version: string;
  readonly packages: Readonly<Record<string, string>>;
  readonly flags: readonly string[];
  readonly key: string;
}
interface Recipes {
  readonly moduleNames: readonly string[];
  readonly settings: Readonly<Record<string, Settings>>;
  makeRecipe(name: string, settings: Settings, goMod: string, goSum: string, sources?: readonly string[]): Recipe;
}

const folder = join(__dirname, '../../../scripts/go-programs');
const read = (name: string, file: string): string => readFileSync(join(folder, name, file), 'utf8');
let recipes: Recipes;
beforeAll(async () => {
  recipes = await loadScript<Recipes>('go-programs/recipes.mjs');
});

const goMod = `module cpusetd.example/example

tool (
\texample.org/tools/v2/cmd/hammer
\texample.org/tools/v2/cmd/saw
)

require (
\texample.org/tools v1.0.0 // indirect
\texample.org/tools/v2 v2.3.4 // indirect
\texample.org/tools/v2/cmd v0.9.0 // indirect
)
`;
const takes = 'no time';
const make = (settings: Partial<Settings> = {}, mod = goMod, sum = 'sum'): Recipe =>
  recipes.makeRecipe('example', { takes, ...settings }, mod, sum);

test('each folder with a go.mod is a module, and there is no other', () => {
  const folders = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect([...recipes.moduleNames].sort()).toEqual(folders.map(({ name }) => name).sort());
});

test('programs have the names of their packages, unless there is another', () => {
  expect(make({ names: { saw: 'chainsaw' } }).packages).toEqual({
    hammer: 'example.org/tools/v2/cmd/hammer',
    chainsaw: 'example.org/tools/v2/cmd/saw',
  });
});

test('a program of ours is a package beside go.mod, and another source gives another key', () => {
  const withSource = (source: string): Recipe =>
    recipes.makeRecipe('example', { takes, ownPrograms: ['plane'] }, goMod, 'sum', [source]);
  expect(withSource('').packages).toMatchObject({ plane: './plane' });
  expect(withSource('package main').key).not.toBe(withSource('').key);
});

test('where all programs are of ours, the version is that of the module they are about', () => {
  const mod = 'module cpusetd.example/example\n\nrequire (\n\texample.org/wood v1.2.0\n\texample.org/tools v0.3.0\n)\n';
  const recipe = make({ ownPrograms: ['plane'], module: 'example.org/wood' }, mod);
  expect(recipe).toMatchObject({ module: 'example.org/wood', version: '1.2.0', packages: { plane: './plane' } });
});

test('a single tool directive is read as well as a block', () => {
  const single = 'tool example.org/saw/cmd/saw\n\nrequire example.org/saw v1.2.3 // indirect\n';
  expect(make({}, single)).toMatchObject({ packages: { saw: 'example.org/saw/cmd/saw' }, version: '1.2.3' });
});

test('a module of which only tests are built has their program, and the version of their module', () => {
  const testPackages = { 'saw.test': 'example.org/saw/teeth' };
  const mod = 'require example.org/saw v1.2.3 // indirect\n';
  expect(make({ testPackages }, mod)).toMatchObject({ packages: {}, testPackages, version: '1.2.3' });
});

test('the version is that of the module with the longest path', () => {
  expect(make()).toMatchObject({ module: 'example.org/tools/v2/cmd', version: '0.9.0' });
});

test('a go.mod that does not require the module of its tool is refused', () => {
  const none = 'tool example.org/saw/cmd/saw\n\nrequire example.org/saws v1.2.3\n';
  expect(() => make({}, none)).toThrow('go.mod requires no module with example.org/saw/cmd/saw');
});

test.each`
  given               | settings                                           | mod                                | sum
  ${'another tag'}    | ${{ tags: ['x'] }}                                 | ${goMod}                           | ${'sum'}
  ${'another name'}   | ${{ names: { saw: 'chainsaw' } }}                  | ${goMod}                           | ${'sum'}
  ${'a program in C'} | ${{ cPrograms: { file: 'src' } }}                  | ${goMod}                           | ${'sum'}
  ${'a test program'} | ${{ testPackages: { 'a.test': 'example.org/a' } }} | ${goMod}                           | ${'sum'}
  ${'linker flags'}   | ${{ linkerFlags: (v: string) => [`-X ${v}`] }}     | ${goMod}                           | ${'sum'}
  ${'another go.mod'} | ${{}}                                              | ${goMod.replace('2.3.4', '2.3.5')} | ${'sum'}
  ${'another go.sum'} | ${{}}                                              | ${goMod}                           | ${'other'}
`('$given gives another key', ({ settings, mod, sum }: { settings: Partial<Settings>; mod: string; sum: string }) => {
  expect(make(settings, mod, sum).key).not.toBe(make().key);
});

test('the same files and settings give the same key, however long the build takes', () => {
  expect(make({ takes: 'a day' }).key).toBe(make().key);
});

test('Kubernetes is told the version that its go.mod requires', () => {
  const { version, flags } = recipes.makeRecipe(
    'kubernetes',
    recipes.settings['kubernetes']!,
    read('kubernetes', 'go.mod'),
    '',
  );
  expect(version).toBe(/^\tk8s\.io\/kubernetes v(\S+)/m.exec(read('kubernetes', 'go.mod'))![1]);
  const [major, minor] = version.split('.');
  const path = 'k8s.io/component-base/version';
  expect(flags.at(-1)).toBe(
    `-s -w -X ${path}.gitVersion=v${version} -X ${path}.gitMajor=${major} -X ${path}.gitMinor=${minor}`,
  );
});
