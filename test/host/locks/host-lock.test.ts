import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeHeartbeat, readHeartbeat } from '../../../src/app/lifecycle/heartbeat';
import { acquireHostLock, HostLockError } from '../../../src/host';
import { defineAsRoot } from '../../support/not-run';
import { bundleModule } from '../bundle-module';

let folder: string;
let path: string;
let bundle: ReturnType<typeof bundleModule>;
const pids = new Set<number>();

beforeAll(() => {
  bundle = bundleModule('locks/host-lock.ts');
});
afterAll(() => bundle.remove());
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lock-'));
  path = join(folder, 'cpusetd.lock');
});
afterEach(() => {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // ended by itself
    }
  }
  pids.clear();
  rmSync(folder, { recursive: true, force: true });
});

const lockInChild = (then: string): string =>
  `const outcome = require(${JSON.stringify(bundle.file)}).acquireHostLock(${JSON.stringify(path)}); ${then}`;

/** Starts a process that takes the lock and keeps running; resolves with its first line of output. */
async function startHolder(then: string): Promise<{ child: ChildProcess; output: string }> {
  const child = spawn(process.execPath, ['-e', lockInChild(then)], { stdio: ['ignore', 'pipe', 'inherit'] });
  pids.add(child.pid!);
  const [data] = (await once(child.stdout, 'data')) as [Buffer];
  return { child, output: data.toString().trim() };
}

function acquire(): { release(): void } {
  const outcome = acquireHostLock(path);
  if (outcome.kind !== 'acquired') throw new Error(outcome.because);
  return outcome.lock;
}

test('the first process takes the lock and writes its pid, in a new folder, with mode 0600', () => {
  path = join(folder, 'new/cpusetd.lock');
  const lock = acquire();
  expect(readFileSync(path, 'utf8')).toBe(`${process.pid}\n`);
  expect((statSync(path).mode & 0o777).toString(8)).toBe('600');
  lock.release();
});

test('the second process gets the pid of the holder', () => {
  const lock = acquire();
  expect(acquireHostLock(path)).toEqual({
    kind: 'held',
    holderPid: process.pid,
    because: `${folder} is locked by process ${process.pid}; two cpusetd can't share a state directory: stop that one first`,
  });
  lock.release();
});

test('another process gets the lock only after the release; a second release does nothing', () => {
  const tryInChild = (): string =>
    spawnSync(process.execPath, ['-e', lockInChild('console.log(outcome.kind, outcome.holderPid)')], {
      encoding: 'utf8',
    }).stdout.trim();
  const lock = acquire();
  expect(tryInChild()).toBe(`held ${process.pid}`);
  lock.release();
  expect(tryInChild()).toBe('acquired undefined');
  const second = acquire();
  lock.release();
  expect(tryInChild()).toBe(`held ${process.pid}`);
  second.release();
});

test('a killed holder loses the lock, even while its child process runs', async () => {
  const { child, output } = await startHolder(
    `const orphan = require('child_process').spawn('sleep', ['60'], { stdio: 'ignore', detached: true });
     console.log(orphan.pid); setInterval(() => {}, 1000);`,
  );
  const orphan = Number(output);
  pids.add(orphan);
  expect(acquireHostLock(path)).toMatchObject({ kind: 'held', holderPid: child.pid });
  child.kill('SIGKILL');
  await once(child, 'exit');
  acquire().release();
  expect(process.kill(orphan, 0)).toBe(true);
});

test.each`
  name                             | content
  ${'an empty file'}               | ${''}
  ${'garbage'}                     | ${'who knows\n'}
  ${'a number without line feed'}  | ${'1234'}
  ${'a number that is no pid'}     | ${'12345678901234567890\n'}
  ${'the pid of an ended process'} | ${'4194305\n'}
`('a lock file with $name: the holder is "another process"', async ({ content }) => {
  const { output } = await startHolder(
    `require('fs').writeFileSync(${JSON.stringify(path)}, ${JSON.stringify(content)}); console.log('done'); setInterval(() => {}, 1000);`,
  );
  expect(output).toBe('done');
  expect(acquireHostLock(path)).toMatchObject({
    kind: 'held',
    holderPid: undefined,
    because: expect.stringContaining('is locked by another process'),
  });
});

test('a pid replaces the whole content of an earlier holder', () => {
  writeFileSync(path, '1234567890\n'.repeat(3));
  const lock = acquire();
  expect(readFileSync(path, 'utf8')).toBe(`${process.pid}\n`);
  lock.release();
});

/** The message that acquireHostLock throws in a process with this PATH. */
function messageWithPath(PATH: string): string {
  const script = `try { ${lockInChild('')} } catch (error) { console.log(error.name, error.message) }`;
  return spawnSync(process.execPath, ['-e', script], { encoding: 'utf8', env: { PATH } }).stdout.trim();
}

test('without the flock command the error names the package to install', () => {
  expect(messageWithPath('/nonexistent')).toBe(
    `HostLockError ${folder}: the command "flock" cannot be run (ENOENT); it guards against a second cpusetd on the node: ` +
      'install it (package util-linux) and have it on PATH',
  );
});

test('a flock command that fails is an error, and not a held lock', () => {
  writeFileSync(join(folder, 'flock'), '#!/bin/sh\necho "flock: 3: No locks available" >&2\nexit 1\n', { mode: 0o700 });
  expect(messageWithPath(folder)).toBe(
    `HostLockError ${folder}: "flock" ended with status 1 and said "flock: 3: No locks available"; ` +
      'the directory must be on a file system that can lock files, such as /run',
  );
});

defineAsRoot(() =>
  test.each`
    name                                 | prepare                                                         | isReplaced
    ${'a folder'}                        | ${() => mkdirSync(path)}                                        | ${false}
    ${'a symbolic link to a device'}     | ${() => symlinkSync('/dev/null', path)}                         | ${true}
    ${'a dangling symbolic link'}        | ${() => symlinkSync('/proc/nowhere', path)}                     | ${true}
    ${'a symbolic link to another file'} | ${() => symlinkSync(join(folder, 'victim'), path)}              | ${true}
    ${'a hard link of another file'}     | ${() => linkSync(join(folder, 'victim'), path)}                 | ${true}
    ${'a FIFO without a reader'}         | ${() => execFileSync('mkfifo', [path])}                         | ${true}
    ${'a device'}                        | ${() => execFileSync('mknod', [path, 'c', '1', '3'])}           | ${true}
    ${'a file of another user'}          | ${() => (writeFileSync(path, '1\n'), chownSync(path, 4711, 0))} | ${true}
  `(
    '$name at the path of the pid file: the lock is taken, keeps others out, and no other file changes',
    ({ prepare, isReplaced }) => {
      writeFileSync(join(folder, 'victim'), 'untouched');
      utimesSync(join(folder, 'victim'), 1, 1);
      prepare();
      expect(readHeartbeat(path, Date.now()) === undefined).toBe(!lstatSync(path).isFile());
      const lock = acquire();
      writeHeartbeat(path, Date.now());
      expect(acquireHostLock(path)).toMatchObject({ kind: 'held', holderPid: isReplaced ? process.pid : undefined });
      lock.release();
      expect(readFileSync(join(folder, 'victim'), 'utf8')).toBe('untouched');
      expect(statSync(join(folder, 'victim')).mtimeMs).toBe(1_000);
    },
  ),
);

describe('a lock directory that others can write to', () => {
  test.each`
    mode      | left      | warning
    ${'777'}  | ${'755'}  | ${/had mode 777: others could write to it/}
    ${'775'}  | ${'755'}  | ${/had mode 775/}
    ${'2770'} | ${'2750'} | ${/had mode 2770/}
    ${'755'}  | ${'755'}  | ${undefined}
    ${'700'}  | ${'700'}  | ${undefined}
    ${'1777'} | ${'1777'} | ${/is shared with others; choose one for cpusetd alone, or run: chmod 700/}
  `('of mode $mode has mode $left after the lock', ({ mode, left, warning }) => {
    chmodSync(folder, parseInt(mode as string, 8));
    const outcome = acquireHostLock(path);
    if (outcome.kind !== 'acquired') throw new Error(outcome.because);
    const { warnings } = outcome.lock;
    expect((statSync(folder).mode & 0o7777).toString(8)).toBe(left);
    expect(warnings).toEqual(warning === undefined ? [] : [expect.stringMatching(warning as RegExp)]);
    outcome.lock.release();
  });

  defineAsRoot(() =>
    test('of another owner is refused with the remedy', () => {
      chownSync(folder, 4711, 0);
      expect(() => acquireHostLock(path)).toThrow(
        `${folder}: the directory belongs to user 4711, who could replace what is in it; run: chown 0 ${folder}`,
      );
    }),
  );
});

test.each`
  name                                    | place                                | because
  ${'is a file'}                          | ${() => join(folder, 'plain')}       | ${'something that is no directory is there (EEXIST)'}
  ${'is below a file'}                    | ${() => join(folder, 'plain/below')} | ${'a part of the path is no directory (ENOTDIR)'}
  ${'can’t be created'}                   | ${() => '/proc/nowhere'}             | ${'cannot be opened (ENOENT)'}
  ${'has a parent that can’t be created'} | ${() => '/proc/nowhere/at/all'}      | ${'cannot be opened (ENOENT)'}
`('a lock directory that $name is refused', ({ place, because }) => {
  writeFileSync(join(folder, 'plain'), '');
  expect(() => acquireHostLock(join(place(), 'lock'))).toThrow(HostLockError);
  expect(() => acquireHostLock(join(place(), 'lock'))).toThrow(
    `${String(because)}; cpusetd needs a directory of its own: set another --state-dir or --lock-dir`,
  );
});

defineAsRoot(() =>
  describe('on a read-only file system', () => {
    const mount = (...args: string[]) => spawnSync('mount', args, { encoding: 'utf8' });
    beforeEach(() => {
      expect(mount('-t', 'tmpfs', 'cpusetd-test', folder).stderr).toBe('');
    });
    afterEach(() => {
      spawnSync('umount', ['--lazy', folder]);
    });
    test.each`
      name                                        | prepare
      ${'without a pid file'}                     | ${() => undefined}
      ${'with the pid file of an earlier daemon'} | ${() => acquire().release()}
    `('$name: the lock is taken, and kept when it is writable again', ({ prepare }) => {
      prepare();
      expect(mount('-o', 'remount,ro', folder).stderr).toBe('');
      const lock = acquire();
      expect(acquireHostLock(path)).toMatchObject({ kind: 'held' });
      expect(mount('-o', 'remount,rw', folder).stderr).toBe('');
      expect(acquireHostLock(path)).toMatchObject({ kind: 'held' });
      lock.release();
      acquire().release();
    });
  }),
);
