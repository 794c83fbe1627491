import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

import { listScripts } from '../docs/commands';
import { readPage } from '../docs/markdown';
import { playBlock } from '../docs/play-block';
import { builtBundle } from '../support/built-bundle';

const ROOT = join(__dirname, '../..');
const run = promisify(execFile);

/** The folder of another package. cpusetd is installed in it from its tarball, with its dependencies and no others. */
let folder: string;
let installed: string;
let manifest: { readonly dependencies: Readonly<Record<string, string>> };

beforeAll(async () => {
  builtBundle();
  folder = mkdtempSync(join(tmpdir(), 'cpusetd-consumer-'));
  installed = join(folder, 'node_modules/cpusetd');
  mkdirSync(installed, { recursive: true });
  await run('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], { cwd: ROOT });
  const [tarball] = readdirSync(folder).filter((name) => name.endsWith('.tgz'));
  await run('tar', ['-xzf', join(folder, tarball!), '-C', installed, '--strip-components', '1']);
  manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as typeof manifest;
  for (const name of [...Object.keys(manifest.dependencies), '@types/node']) {
    const link = join(folder, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules', name), link);
  }
  // Both module systems of Node get the same source.
  const source = readFileSync(join(__dirname, 'consumer/consumer.ts'));
  for (const name of ['consumer.ts', 'module.mts']) writeFileSync(join(folder, name), source);
  cpSync(join(installed, 'examples'), join(folder, 'examples'), { recursive: true });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/**
 * Compiles the consumer and the examples, with checks of the package's declarations. Resolves with the output of the
 * compiler.
 */
async function compile(options: Readonly<Record<string, unknown>>): Promise<string> {
  const name = `tsconfig.${String(options['moduleResolution'])}.json`;
  const compilerOptions = { target: 'es2022', strict: true, skipLibCheck: false, types: ['node'], ...options };
  writeFileSync(join(folder, name), JSON.stringify({ compilerOptions, include: ['*.ts', '*.mts', 'examples/*.ts'] }));
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
  return run(process.execPath, [compiler, '-p', name], { cwd: folder }).then(
    ({ stdout }) => stdout,
    (error: unknown) => (error as { stdout: string }).stdout,
  );
}

test('given the tarball, then it has the program, the library with its types, the examples and their page, and no sources', async () => {
  const { stdout } = await run('find', ['.', '-type', 'f'], { cwd: installed });
  const files = stdout.trim().split('\n').sort();
  const others = files.filter((file) => !file.startsWith('./dist/lib/types/'));
  expect(others).toEqual([
    './LICENSE',
    './README.md',
    './dist/NOTICES.txt',
    './dist/cpusetd.js',
    './dist/lib/nri.js',
    './dist/lib/ttrpc.js',
    './docs/write-an-nri-plugin.md',
    './examples/env-from-annotation.ts',
    './examples/log-containers.ts',
    './package.json',
  ]);
  const types = files.filter((file) => !others.includes(file));
  expect(types.filter((file) => !/types\/(src\/(wire|nri|net)|gen\/nri)\/[\w/-]+\.d\.ts$/.test(file))).toEqual([]);
  expect(types.length).toBeGreaterThan(10);
});

test('given the two files of the library, then they load nothing but Node, each other and dependencies of the package', () => {
  const loaded = ['nri', 'ttrpc'].flatMap((name) => {
    const text = readFileSync(join(installed, `dist/lib/${name}.js`), 'utf8');
    return [...text.matchAll(/\brequire\("([^"]+)"\)/g)].map(([, specifier]) => specifier!);
  });
  const packages = loaded.filter((specifier) => !isBuiltin(specifier) && specifier !== './ttrpc.js');
  expect(packages).toContain('@bufbuild/protobuf/wire');
  const names = packages.map((specifier) => /^(?:@[^/]+\/)?[^/]+/.exec(specifier)![0]);
  expect(names.filter((name) => !(name in manifest.dependencies))).toEqual([]);
});

test('given moduleResolution bundler and strict, then a consumer and the examples have no type error', async () => {
  expect(await compile({ module: 'esnext', moduleResolution: 'bundler', noEmit: true })).toBe('');
});

test('given moduleResolution node16 and strict, then a consumer has no type error, and runs as CommonJS and as an ES module', async () => {
  expect(await compile({ module: 'node16', moduleResolution: 'node16', outDir: 'out' })).toBe('');
  for (const file of ['consumer.js', 'module.mjs']) {
    const { stdout } = await run(process.execPath, [join('out', file), join(folder, `${file}.sock`)], {
      cwd: folder,
      timeout: 60_000,
    });
    expect(JSON.parse(stdout)).toEqual([
      { name: 'socket', echoed: 'hello', code: 5 },
      { name: 'mux', echoed: 'hello', code: 5 },
      { refused: 14 },
    ]);
  }
});

test('given a copy of an example, then the commands of docs/write-an-nri-plugin.md compile and start it', () => {
  const [script = ''] = listScripts(readPage('write-an-nri-plugin.md')).filter((text) => text.includes('npx tsc'));
  const project = join(folder, 'project');
  mkdirSync(project);
  symlinkSync(join(folder, 'node_modules'), join(project, 'node_modules'));
  const programs = {
    npx: `test "$1" = tsc; shift; exec '${process.execPath}' '${join(ROOT, 'node_modules/typescript/bin/tsc')}' "$@"`,
    // It waits for the runtime until it is ended.
    node: `
      '${process.execPath}' "$@" '${join(folder, 'no.sock')}' > said 2>&1 &
      until grep 'not connected' said; do kill -0 $! || { cat said >&2; exit 1; }; sleep 0.1; done
      kill $!`,
  };
  playBlock(script, { cwd: project, stage: project, programs });
});
