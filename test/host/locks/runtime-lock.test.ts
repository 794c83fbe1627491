import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { acquireRuntimeLocks, identifySocket } from '../../../src/host';
import { defineAsRoot } from '../../support/not-run';
import { bundleModule } from '../bundle-module';

let folder: string;
let locks: string;
let release: (() => void)[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'locks-'));
  locks = join(folder, 'locks');
  release = [];
});
afterEach(() => {
  for (const each of release) each();
  rmSync(folder, { recursive: true, force: true });
});

const at = (...names: string[]): string => join(folder, ...names);

/** Takes the locks until the end of the test. */
async function take(...sockets: string[]): Promise<'acquired' | 'held'> {
  const outcome = await acquireRuntimeLocks(locks, sockets);
  if (outcome.kind === 'acquired') release.push(() => outcome.lock.release());
  return outcome.kind;
}

test.each`
  what                                                           | first                 | second                    | want
  ${'the same two sockets'}                                      | ${['nri/a', 'cri/b']} | ${['nri/a', 'cri/b']}     | ${'held'}
  ${'NRI plugin and proxy, then a proxy on the same CRI socket'} | ${['nri/a', 'cri/b']} | ${['cri/b']}              | ${'held'}
  ${'proxy, then an NRI plugin with the same CRI socket'}        | ${['cri/b']}          | ${['nri/a', 'cri/b']}     | ${'held'}
  ${'the same NRI socket alone'}                                 | ${['nri/a']}          | ${['nri/a', 'cri/b']}     | ${'held'}
  ${'a symbolic link to the directory'}                          | ${['nri/a']}          | ${['link/a']}             | ${'held'}
  ${'a symbolic link to the socket'}                             | ${['nri/there']}      | ${['to-there']}           | ${'held'}
  ${'another spelling of the path'}                              | ${['nri/a']}          | ${['cri/..//nri/./a']}    | ${'held'}
  ${'a directory that does not exist yet'}                       | ${['none/yet/a']}     | ${['none/../none/yet/a']} | ${'held'}
  ${'the sockets of two runtimes'}                               | ${['nri/a', 'cri/b']} | ${['nri/c', 'cri/d']}     | ${'acquired'}
  ${'the same name in two directories'}                          | ${['nri/a']}          | ${['cri/a']}              | ${'acquired'}
`('$what: $want', async ({ first, second, want }: Record<'first' | 'second', string[]> & { want: string }) => {
  for (const name of ['nri', 'cri']) mkdirSync(at(name));
  symlinkSync(at('nri'), at('link'));
  writeFileSync(at('nri/there'), '');
  symlinkSync(at('nri/there'), at('to-there'));
  const paths = (names: string[]): string[] => names.map((name) => `${folder}/${name}`);
  expect(await take(...paths(first))).toBe('acquired');
  expect(await take(...paths(second))).toBe(want);
});

test('a directory that is created later has the lock of its path, and of its inode', async () => {
  const path = at('run/nri.sock');
  expect(identifySocket(path)).toEqual([`path ${path}`]);
  expect(await take(path)).toBe('acquired');
  mkdirSync(at('run'));
  const { dev, ino } = statSync(at('run'), { bigint: true });
  expect(identifySocket(path)).toEqual([`path ${path}`, `inode ${dev}:${ino} nri.sock`]);
  expect(await take(path)).toBe('held');
});

test('/var/run is /run, also where it is no symbolic link', async () => {
  expect(identifySocket('/var/run/none/a.sock')).toEqual(identifySocket('/run/none/a.sock'));
});

defineAsRoot(() =>
  test('a bind mount of the directory has the same lock', async () => {
    for (const name of ['nri', 'elsewhere']) mkdirSync(at(name));
    expect(spawnSync('mount', ['--bind', at('nri'), at('elsewhere')], { encoding: 'utf8' }).stderr).toBe('');
    try {
      expect(await take(at('nri/a'))).toBe('acquired');
      expect(await take(at('elsewhere/a'))).toBe('held');
    } finally {
      spawnSync('umount', ['--lazy', at('elsewhere')]);
    }
  }),
);

test('the second daemon gets the pid of the holder, and the remedy', async () => {
  const socket = at('nri.sock');
  await take(socket);
  expect(await acquireRuntimeLocks(locks, [socket])).toMatchObject({
    kind: 'held',
    holderPid: process.pid,
    because: expect.stringMatching(
      `^the runtime at ${socket} is locked by process ${process.pid} \\(${locks}/socket-\\w+\\.lock\\); only one cpusetd may serve a runtime: stop that one first$`,
    ),
  });
});

test('a daemon that gets one of two locks releases it', async () => {
  await take(at('b'));
  expect(await take(at('a'), at('b'), at('c'))).toBe('held');
  expect(await take(at('a'), at('c'))).toBe('acquired');
});

test('of four daemons that start at the same time one gets all locks', async () => {
  const bundle = bundleModule('locks/host-lock.ts');
  const script = `const outcome = require(${JSON.stringify(bundle.file)}).acquireRuntimeLocks(process.argv[1], process.argv.slice(2));
    process.stdin.resume().on('end', () => process.exit(0)); outcome.then(({ kind }) => console.log(kind));`;
  try {
    const orders = [
      ['a', 'b', 'c'],
      ['c', 'b', 'a'],
      ['b', 'a'],
      ['c', 'a'],
    ];
    const children = orders.map((names) =>
      spawn(process.execPath, ['-e', script, locks, ...names.map((name) => at(name))], {
        stdio: ['pipe', 'pipe', 'inherit'],
      }),
    );
    const output = await Promise.all(
      children.map(async ({ stdout }) => ((await once(stdout, 'data')) as [Buffer])[0].toString().trim()),
    );
    expect(output.filter((kind) => kind === 'acquired')).toHaveLength(1);
    for (const child of children) child.stdin.end();
    await Promise.all(children.map((child) => once(child, 'close')));
  } finally {
    bundle.remove();
  }
});

test('a killed holder loses its locks, and its lock files do not matter', async () => {
  const bundle = bundleModule('locks/host-lock.ts');
  const script = `require(${JSON.stringify(bundle.file)}).acquireRuntimeLocks(...JSON.parse(process.argv[1])).then(({ kind }) => console.log(kind)); setInterval(() => {}, 1000)`;
  const child = spawn(process.execPath, ['-e', script, JSON.stringify([locks, [at('a')]])], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    expect(((await once(child.stdout, 'data')) as [Buffer])[0].toString()).toBe('acquired\n');
    expect(await take(at('a'))).toBe('held');
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
    expect(readdirSync(locks)).not.toEqual([]);
    expect(await take(at('a'))).toBe('acquired');
  } finally {
    child.kill('SIGKILL');
    bundle.remove();
  }
});

describe('at the path of a lock file, another kind of file is refused at once:', () => {
  defineAsRoot(() =>
    test.each`
      name                        | put
      ${'a symbolic link'}        | ${(path: string) => symlinkSync(at('victim'), path)}
      ${'a folder'}               | ${(path: string) => mkdirSync(path)}
      ${'a FIFO'}                 | ${(path: string) => execFileSync('mkfifo', [path])}
      ${'a device'}               | ${(path: string) => execFileSync('mknod', [path, 'c', '1', '3'])}
      ${'a file of another user'} | ${(path: string) => (writeFileSync(path, ''), chownSync(path, 4711, 0))}
    `('$name', async ({ put }: { put: (path: string) => void }) => {
      writeFileSync(at('victim'), 'untouched');
      await take(at('a'));
      release.pop()!();
      const [name] = readdirSync(locks);
      unlinkSync(join(locks, name!));
      put(join(locks, name!));
      await expect(acquireRuntimeLocks(locks, [at('a')])).rejects.toThrow(
        new RegExp(`^${locks}/${name}: .*; ?(?:if it is no plain file of ours, )?remove it$`),
      );
      expect(statSync(at('victim')).size).toBe(9);
    }),
  );

  defineAsRoot(() =>
    test('a lock directory that others can write to gets mode 0755; one of another owner is refused', async () => {
      mkdirSync(locks);
      chmodSync(locks, 0o777);
      expect(await take(at('a'))).toBe('acquired');
      expect(statSync(locks).mode & 0o777).toBe(0o755);
      chownSync(locks, 4711, 0);
      await expect(take(at('b'))).rejects.toThrow(/belongs to user 4711/);
    }),
  );
});
