import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadScript } from '../../support/load-script';

interface Script {
  writeChangedCopy(options: {
    readonly dir: string;
    readonly name: string;
    readonly copy: Readonly<Record<'of' | 'package' | 'changes', string>>;
    readonly packageDir: string;
    readonly folder: string;
  }): string;
}

let script: Script;
beforeAll(async () => {
  script = await loadScript<Script>('go-programs/changed-copy.mjs');
});

const made: string[] = [];
afterEach(() => {
  for (const dir of made.splice(0)) rmSync(dir, { recursive: true });
});

function makeModule(find: string) {
  const dir = mkdtempSync(join(tmpdir(), 'changed-copy-'));
  made.push(dir);
  mkdirSync(join(dir, 'saw'));
  mkdirSync(join(dir, 'blade'));
  writeFileSync(join(dir, 'go.mod'), 'module example.org/own\n');
  writeFileSync(join(dir, 'saw/main.go'), 'package main\n\nimport "example.org/tools/blade"\n');
  writeFileSync(join(dir, 'blade/blade.go'), 'teeth := 1\ncount(teeth)\n');
  writeFileSync(join(dir, 'blade/blade_test.go'), 'package blade\n');
  const change = { name: 'more teeth', file: 'blade.go', find, replace: 'teeth := 2' };
  writeFileSync(join(dir, 'changes.json'), JSON.stringify([change]));
  const copy = { of: 'saw', package: 'example.org/tools/blade', changes: 'changes.json' };
  return { dir, name: 'saw-repaired', copy, packageDir: join(dir, 'blade'), folder: join(dir, 'out') };
}

test('the copy imports a package of its own, which has the change', () => {
  const module = makeModule('teeth := 1');
  const { Replace } = JSON.parse(readFileSync(script.writeChangedCopy(module), 'utf8')) as {
    Replace: Record<string, string>;
  };
  const read = (file: string): string => readFileSync(Replace[join(module.dir, 'saw-repaired', file)]!, 'utf8');
  expect(read('main.go')).toContain('import "example.org/own/saw-repaired/blade"');
  expect(read('blade/blade.go')).toBe('teeth := 2\ncount(teeth)\n');
  expect(Object.keys(Replace)).toHaveLength(2); // without the test of the package
});

test.each([
  ['teeth := 3', 0],
  ['teeth', 2],
])('a text that is not there once is an error: %s', (find, times) => {
  expect(() => script.writeChangedCopy(makeModule(find))).toThrow(
    `the change "more teeth" does not fit blade.go: its text is there ${times} times`,
  );
});
