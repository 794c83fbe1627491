import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { poll, waitUntil } from '../../support/wait-until';

const script = join(__dirname, '../../../scripts/go-programs/build.mjs');

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'go-programs-'));
  mkdirSync(join(folder, 'bin'));
});
afterEach(() => rmSync(folder, { recursive: true }));

interface Failure {
  readonly how: Given;
  readonly status: number;
  readonly why: string | RegExp;
}
interface Given {
  /** A shell script that gets Go's arguments. */
  readonly go?: string;
  readonly path?: string;
  readonly names?: readonly string[];
}

/** Builds with a fake Go. */
function build({ go, path = ':/usr/bin:/bin', names = ['containerd'] }: Given) {
  if (go !== undefined) {
    writeFileSync(join(folder, 'bin/go'), `#!/bin/sh\n${go}\n`);
    chmodSync(join(folder, 'bin/go'), 0o755);
  }
  const env = { PATH: `${join(folder, 'bin')}${path}`, CPUSETD_CACHE: join(folder, 'cache') };
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...names], { env, encoding: 'utf8' });
  return { status, stdout: stdout.trim(), why: stderr.trim().split('\n').at(-1) };
}

const listIsFine = 'case $1 in list) echo cpusetd.example/module; exit 0;; esac';
/** A fake Go that makes the programs in the folder after -o. */
const makesPrograms = `${listIsFine}
while [ "$1" != -o ]; do shift; done
dir=$2; shift 2
echo once >> "$dir../../builds"
for name in "$@"; do touch "$dir$(basename "$name")"; done`;

/** A fake Go that makes the program of the tests of a package. */
const makesTests = `${listIsFine}
[ "$1 $2" = 'test -c' ] || exit 1
while [ "$1" != -o ]; do shift; done
touch "$2"`;

test('it prints the versions and the folder of the three programs, and builds them once', () => {
  const first = build({ go: makesPrograms });
  expect(first).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(/^containerd 2\.\d+\.\d+, .*ctr 2[\d.]+: \//),
  });
  expect(readdirSync(first.stdout.split(': ')[1]!).sort()).toEqual(['containerd', 'containerd-shim-runc-v2', 'ctr']);
  expect(build({ go: makesPrograms })).toMatchObject({ status: 0, stdout: first.stdout });
  expect(readFileSync(join(folder, 'builds'), 'utf8')).toBe('once\n');
});

test('the tests of a package are a program in the folder', () => {
  const { stdout } = build({ go: makesTests, names: ['containerd-integration'] });
  expect(stdout).toMatch(/^cri-integration\.test 2\.\d+\.\d+: \//);
  expect(readdirSync(stdout.split(': ')[1]!)).toEqual(['cri-integration.test']);
});

test('a program that is renamed has its new name in the folder', () => {
  const { stdout } = build({ go: makesPrograms, names: ['scheduler-plugins'] });
  expect(readdirSync(stdout.split(': ')[1]!)).toEqual(['kube-scheduler-plugins']);
});

test.each`
  given                      | names         | why
  ${'no name'}               | ${[]}         | ${/^name one of containerd, /}
  ${'the name of no module'} | ${['docker']} | ${/^there is no Go module docker, but containerd, /}
`('given $given it says which there are', ({ names, why }: { names: readonly string[]; why: RegExp }) => {
  expect(build({ go: makesPrograms, names })).toMatchObject({ status: 1, stdout: '', why: expect.stringMatching(why) });
});

/** A fake Go whose fetching of modules ends with this complaint. */
const fetchesNothing = (complaint: string): string =>
  `case "$1 $2" in 'list -deps') echo '${complaint}' >&2; exit 1;; esac; ${listIsFine}`;

// Tests that need programs with exit status 3 are listed as not run in CI too.
test.each`
  name                                  | how                                                    | status | why
  ${'there is no Go'}                   | ${{ path: '' }}                                        | ${3}   | ${'building containerd needs Go: there is no go command'}
  ${'Go is older than go.mod asks for'} | ${{ go: 'echo go.mod requires go 9 >&2; exit 1' }}     | ${3}   | ${'building containerd needs Go: go.mod requires go 9'}
  ${'the modules can not be fetched'}   | ${{ go: fetchesNothing('dial: refused') }}             | ${3}   | ${"the Go modules of containerd can't be fetched: dial: refused"}
  ${'a module is not the pinned one'}   | ${{ go: fetchesNothing('checksum mismatch') }}         | ${1}   | ${"containerd can't be built: checksum mismatch"}
  ${'the C program has no sources'}     | ${{ go: makesPrograms, names: ['cri-o'] }}             | ${1}   | ${/no such file or directory, scandir/}
  ${'Go does not compile it'}           | ${{ go: `${listIsFine}; echo x: broken >&2; exit 1` }} | ${1}   | ${"containerd can't be built: x: broken"}
  ${'Go succeeds and makes nothing'}    | ${{ go: 'exit 0' }}                                    | ${1}   | ${'the build made no containerd, no containerd-shim-runc-v2, no ctr'}
`('when $name it says so, and leaves nothing half made', ({ how, status, why }: Failure) => {
  expect(build(how)).toMatchObject({ status, stdout: '', why: expect.stringMatching(why) });
  const cache = join(folder, 'cache');
  expect(existsSync(cache) ? readdirSync(cache).filter((name) => !name.endsWith('.lock')) : []).toEqual([]);
});

/** Starts a build with a fake Go, in a process group of its own. */
function startBuild(go: string, variables: NodeJS.ProcessEnv = {}) {
  writeFileSync(join(folder, 'bin/go'), `#!/bin/sh\n${go}\n`);
  chmodSync(join(folder, 'bin/go'), 0o755);
  const env = { PATH: `${join(folder, 'bin')}:/usr/bin:/bin`, CPUSETD_CACHE: join(folder, 'cache'), ...variables };
  const child = spawn(process.execPath, [script, 'containerd'], { env, detached: true });
  const output = { stdout: '', stderr: '' };
  child.stdout.on('data', (text) => (output.stdout += String(text)));
  child.stderr.on('data', (text) => (output.stderr += String(text)));
  return { pid: child.pid!, output, ended: once(child, 'close') };
}

/**
 * Code of a fake Go that hangs after its first line until the file `goOn` is there. It writes its pid to `building`.
 */
const hangsUntil = `case $1 in build) echo $$ > "$0.building"; echo some/package >&2; while [ ! -e "$0.goOn" ]; do sleep 0.05; done;; esac`;
const beginsToBuild = (): Promise<true> =>
  poll('the build', () => existsSync(join(folder, 'bin/go.building')) || undefined);

test('a build without progress is ended: the error names the command, the limit and the remedy', async () => {
  const hangs = `case $1 in build) echo some/package >&2; sleep 1000;; esac; ${listIsFine}`;
  const { output, ended } = startBuild(hangs, { CPUSETD_STILL_SECONDS: '1' });
  expect(await ended).toEqual([1, null]);
  expect(output.stderr.trim().split('\n').at(-1)).toMatch(
    /^containerd: go build .* made no progress for 1 s .*; its last line: some\/package; the next build goes on where this one stopped$/,
  );
});

test('a build that is ended from outside says so and leaves a cache that the next one uses', async () => {
  const { pid, output, ended } = startBuild(`${hangsUntil}; ${makesPrograms}`);
  await beginsToBuild();
  process.kill(-pid, 'SIGTERM');
  await ended;
  const said = 'was ended from outside by SIGTERM; its last line: some/package; the next build goes on where this one';
  await poll('the message', () => output.stderr.includes(said) || undefined);
  const builder = Number(readFileSync(join(folder, 'bin/go.building'), 'utf8'));
  await waitUntil('Go to end', () => !existsSync(`/proc/${builder}`));

  const next = build({ go: makesPrograms });
  expect(next).toMatchObject({ status: 0 });
  expect(readdirSync(join(folder, 'cache')).filter((name) => name.includes('.building-'))).toEqual([]);
});

test('two builds at once: the second waits, and takes what the first has made', async () => {
  const first = startBuild(`${hangsUntil}; ${makesPrograms}`);
  await beginsToBuild();
  const second = startBuild(`${hangsUntil}; ${makesPrograms}`);
  await poll('the second to wait', () => /waiting for process \d+ /.test(second.output.stderr) || undefined);
  writeFileSync(join(folder, 'bin/go.goOn'), '');
  expect([await first.ended, await second.ended]).toEqual([
    [0, null],
    [0, null],
  ]);
  expect(second.output.stdout).toBe(first.output.stdout);
  expect(readFileSync(join(folder, 'builds'), 'utf8')).toBe('once\n');
});
