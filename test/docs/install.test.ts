import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './markdown';

// `npm run install:check` runs the commands; it needs a registry.

interface Locked {
  readonly version?: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const read = (name: string): string => readFileSync(join(ROOT, name), 'utf8');
const { packages } = JSON.parse(read('package-lock.json')) as { packages: Readonly<Record<string, Locked>> };

test('the lock has the optional packages of every platform, without which npm 11 refuses `npm ci`', () => {
  const missing = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter(
      (name) => !packages[`${path}/node_modules/${name}`] && !packages[`node_modules/${name}`],
    ),
  );
  expect(missing).toEqual([]);
});

test('the lock names what each package must hold, and no registry', () => {
  const locked = Object.entries(packages).filter(([path]) => path !== '');
  expect(locked.length).toBeGreaterThan(100);
  for (const [path, { version, integrity, resolved }] of locked)
    expect([path, version, integrity, resolved]).toEqual([
      path,
      expect.any(String),
      expect.stringMatching(/^sha512-/),
      undefined,
    ]);
});

test('the pages and the Dockerfile install with the same commands of npm', () => {
  const commandsOf = (text: string): string[] =>
    [...text.matchAll(/\bnpm (?:ci|install|run build)\b/g)].map(([command]) => command);
  const install = ['npm ci', 'npm run build'];
  expect(commandsOf(/\n## Use it\n([^]*?)\n## /.exec(read('README.md'))![1]!)).toEqual(install);
  expect(commandsOf(/\n## As a service\n([^]*?)\n## /.exec(read('docs/install.md'))![1]!)).toEqual(install);
  expect(commandsOf(read('Dockerfile').replaceAll(/^#.*$/gm, ''))).toEqual(install);
});
