import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const script = join(__dirname, '../../../scripts/runtime/suite.mjs');

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'suite-'))));
afterEach(() => rmSync(folder, { recursive: true }));

/** Prepares a suite on a machine without commands and with an empty cache. */
function prepare(suite: string, env: Readonly<Record<string, string>> = {}) {
  const bare = { PATH: '', CPUSETD_CACHE: folder, ...env };
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, suite], { env: bare, encoding: 'utf8' });
  return { status, stdout, why: stderr };
}

// Tests with exit status 3 are listed as not run in CI too.
test.each`
  name                                                  | suite        | env                               | status | why
  ${'a release that would have to be built, and no Go'} | ${'release'} | ${{}}                             | ${3}   | ${/^building containerd needs Go: there is no go command\n$/}
  ${'a containerd of the user, which needs no Go'}      | ${'release'} | ${{ CPUSETD_CONTAINERD: '/dev' }} | ${1}   | ${/^(?!.*Go).+\n$/}
  ${"Debian's containerd, which needs no Go"}           | ${'trixie'}  | ${{}}                             | ${1}   | ${/^(?!.*Go).+\n$/}
`(
  '$name',
  ({ suite, env, status, why }: { suite: string; env: Record<string, string>; status: number; why: RegExp }) => {
    expect(prepare(suite, env)).toMatchObject({ status, stdout: '', why: expect.stringMatching(why) });
  },
);
