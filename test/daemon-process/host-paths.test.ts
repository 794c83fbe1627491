import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OPTIONS } from '../../src/app/config/options';
import { builtBundle } from '../support/built-bundle';
import { daemonArguments } from '../support/daemon-paths';
import { HOST_PATHS } from '../support/host-paths';

const TESTS = join(__dirname, '..');

test('a daemon with the paths of a test has none of the host among its options in force', () => {
  const folder = mkdtempSync(join(tmpdir(), 'paths-'));
  try {
    mkdirSync(join(folder, 'sys')); // a machine without CPUs ends the start after the line with the options
    const args = [builtBundle(), ...daemonArguments(folder, { 'reserved-cpus': '0' })];
    const { stdout } = spawnSync(process.execPath, args, { env: {}, encoding: 'utf8' });
    const { options } = JSON.parse(stdout.split('\n')[0]!) as { options: Record<string, string> };
    const paths = Object.entries(options).filter(([, value]) => value.startsWith('/'));
    expect(paths.length).toBeGreaterThan(8);
    expect(paths.filter(([, path]) => !path.startsWith(`${folder}/`))).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

/** A program of ours, started with the command `run`: `[bundle, 'run', ...]`, `fork(bundle, ['run', ...])`. */
const RUN = /\b\w*[bB]undle\w*(?:\(\))?, *\[? *'run'/;

test.each`
  source                                         | isFound
  ${"spawn(node, [builtBundle(), 'run', more])"} | ${true}
  ${"fork(bundle, ['run', ...args])"}            | ${true}
  ${"[...[builtBundle(), 'run', '--config']]"}   | ${true}
  ${"runInProcess(['run', '--help'])"}           | ${false}
`('the rule for sources: $source', ({ source, isFound }: { source: string; isFound: boolean }) => {
  expect(RUN.test(source)).toBe(isFound);
});

test('every test that starts a daemon gives it the paths of daemon-paths.ts', () => {
  const others = /^(?:e2e|cluster|machines|browser|soak)\//; // their rigs have a host, or a runtime, of their own
  const files = readdirSync(TESTS, { recursive: true, encoding: 'utf8' }).filter((path) => /\.[cm]?[jt]s$/.test(path));
  const found = files.filter((path) => !others.test(path) && RUN.test(readFileSync(join(TESTS, path), 'utf8')));
  expect(found).toEqual(['daemon-process/host-paths.test.ts']); // the rows above
});

test('the paths whose making fails a test file are those that a daemon makes by default', () => {
  const { stateDir, lockDir, cpuIdentityDir, criListen, adminSocket } = OPTIONS;
  for (const { default: path } of [stateDir, lockDir, cpuIdentityDir, criListen, adminSocket])
    expect([path, HOST_PATHS.some((folder) => `${path}/`.startsWith(`${folder}/`))]).toEqual([path, true]);
});
