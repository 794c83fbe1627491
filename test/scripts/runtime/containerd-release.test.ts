import { spawnSync } from 'node:child_process';
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

const script = join(__dirname, '../../../scripts/runtime/containerd-release/build.mjs');

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'release-'));
  mkdirSync(join(folder, 'bin'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Builds with a fake Go, a shell script that gets Go's arguments. */
function build({ go, path = ':/usr/bin:/bin' }: { readonly go?: string; readonly path?: string }) {
  if (go !== undefined) {
    writeFileSync(join(folder, 'bin/go'), `#!/bin/sh\n${go}\n`);
    chmodSync(join(folder, 'bin/go'), 0o755);
  }
  const env = { PATH: `${join(folder, 'bin')}${path}`, CPUSETD_CACHE: join(folder, 'cache') };
  const { status, stdout, stderr } = spawnSync(process.execPath, [script], { env, encoding: 'utf8' });
  return { status, stdout: stdout.trim(), why: stderr.trim().split('\n').at(-1) };
}

const listIsFine = 'case $1 in list) echo cpusetd.example/containerd-release; exit 0;; esac';
/** A fake Go that makes the programs in the folder after -o. */
const makesPrograms = `${listIsFine}
while [ "$1" != -o ]; do shift; done
dir=$2; shift 2
echo once >> "$dir../../builds"
for name in "$@"; do touch "$dir$(basename "$name")"; done`;

test('it prints the folder of the three programs, and builds them once', () => {
  const first = build({ go: makesPrograms });
  expect(first).toMatchObject({ status: 0 });
  expect(readdirSync(first.stdout).sort()).toEqual(['containerd', 'containerd-shim-runc-v2', 'ctr']);
  expect(build({ go: makesPrograms })).toMatchObject({ status: 0, stdout: first.stdout });
  expect(readFileSync(join(folder, 'builds'), 'utf8')).toBe('once\n');
});

test.each`
  name                                  | how                                                        | why
  ${'there is no Go'}                   | ${{ path: '' }}                                            | ${'building containerd needs Go: there is no go command'}
  ${'Go is older than go.mod asks for'} | ${{ go: 'echo go.mod requires go 9 >&2; exit 1' }}         | ${'building containerd needs Go: go.mod requires go 9'}
  ${'the modules can not be had'}       | ${{ go: `${listIsFine}; echo dial: refused >&2; exit 1` }} | ${"containerd can't be built: dial: refused"}
  ${'Go succeeds and makes nothing'}    | ${{ go: 'exit 0' }}                                        | ${'the build made no containerd, no containerd-shim-runc-v2, no ctr'}
`('when $name it says so, and leaves nothing half made', ({ how, why }: { how: object; why: string }) => {
  expect(build(how)).toMatchObject({ status: 1, stdout: '', why });
  const cache = join(folder, 'cache');
  expect(existsSync(cache) ? readdirSync(cache).filter((name) => !name.endsWith('.lock')) : []).toEqual([]);
});
