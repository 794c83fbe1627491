import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ROOT } from '../docs/markdown';
import { builtBundle } from '../support/built-bundle';

// The plugin is the program itself under another name.

const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };

let folder: string;
beforeAll(() => (folder = mkdtempSync(join(tmpdir(), 'kubectl-cpuset-'))));
afterAll(() => rmSync(folder, { recursive: true }));

function firstLineOf(name: string): string {
  const path = join(folder, name);
  symlinkSync(builtBundle(), path);
  const { stdout } = spawnSync(process.execPath, [path, '--help'], { encoding: 'utf8' });
  return stdout.split('\n')[0]!;
}

test.each([
  ['kubectl-cpuset', 'Usage: kubectl cpuset [options] [command]'],
  ['kubectl_cpuset', 'Usage: kubectl cpuset [options] [command]'],
  ['kubectl-cpuset.js', 'Usage: kubectl cpuset [options] [command]'],
  ['cpusetd', 'Usage: cpusetd [options] [command]'],
  ['my-kubectl-cpuset', 'Usage: cpusetd [options] [command]'],
])('under the name %s its help begins with: %s', (name, line) => {
  expect(firstLineOf(name)).toBe(line);
});

test.each([
  ['kubectl-cpuset', ['--version'], `${version}\n`],
  ['kubectl_complete-cpuset', ['--vers'], '--version\tprint the version\n:4\n'],
])('the build makes the link %s', (name, args, expected) => {
  const { status, stdout } = spawnSync(join(dirname(builtBundle()), name), args, {
    encoding: 'utf8',
    env: { PATH: dirname(process.execPath) + ':/usr/bin:/bin' },
  });
  expect({ status, stdout }).toEqual({ status: 0, stdout: expected });
});
