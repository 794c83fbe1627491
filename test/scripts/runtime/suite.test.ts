import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const script = join(__dirname, '../../../scripts/runtime/suite.mjs');

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'suite-'))));
afterEach(() => rmSync(folder, { recursive: true }));

/** On a machine that has no commands at all, and nothing in the cache. */
function prepare(suite: string, env: Readonly<Record<string, string>> = {}) {
  const bare = { PATH: '', CPUSETD_CACHE: folder, ...env };
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, suite], { env: bare, encoding: 'utf8' });
  return { status, stdout, why: stderr };
}

// Exit status 3 is what the rig lists as not run in CI too.
test.each`
  name                                                        | suite        | env                               | status | why
  ${'a release that would have to be built, and no Go'}       | ${'release'} | ${{}}                             | ${3}   | ${/^building containerd needs Go: there is no go command\n$/}
  ${"a containerd of the reader's own, for which Go is moot"} | ${'release'} | ${{ CPUSETD_CONTAINERD: '/dev' }} | ${1}   | ${/^(?!.*Go).+\n$/}
  ${"Debian's containerd, for which Go is moot"}              | ${'trixie'}  | ${{}}                             | ${1}   | ${/^(?!.*Go).+\n$/}
`(
  '$name',
  ({ suite, env, status, why }: { suite: string; env: Record<string, string>; status: number; why: RegExp }) => {
    expect(prepare(suite, env)).toMatchObject({ status, stdout: '', why: expect.stringMatching(why) });
  },
);
