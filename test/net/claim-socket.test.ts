import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { claimSocket, probeSocket } from '../../src/net/claim-socket';

let folder: string;
const servers: Server[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'claim-'));
});

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => new Promise((resolve) => server.close(resolve))));
  rmSync(folder, { recursive: true, force: true });
});

function listen(path: string): Promise<void> {
  const server = createServer((socket) => socket.destroy());
  servers.push(server);
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
}

/** The stale socket file of a killed process. */
async function leaveStaleSocket(path: string): Promise<void> {
  const aside = `${path}.x`;
  await listen(aside);
  const { renameSync } = await import('node:fs');
  renameSync(aside, path);
  await new Promise((resolve) => servers.pop()!.close(resolve));
}

test('the socket is open to its owner only, and nothing else is left in the folder', async () => {
  const path = join(folder, 'a.sock');
  await claimSocket(path, listen);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder)).toEqual(['a.sock']);
});

test('other users can not connect before the socket has its mode', async () => {
  const path = join(folder, 'a.sock');
  const seen: number[] = [];
  await claimSocket(path, async (bound) => {
    await listen(bound);
    chmodSync(bound, 0o777); // the worst umask
    seen.push(statSync(join(bound, '..')).mode & 0o777);
    expect(existsSync(path)).toBe(false);
  });
  expect(seen).toEqual([0o700]);
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test('the socket of a process that is gone is replaced', async () => {
  const path = join(folder, 'a.sock');
  await leaveStaleSocket(path);
  expect(await probeSocket(path)).toBe('stale');
  await claimSocket(path, listen);
  expect(await probeSocket(path)).toBe('live');
});

test('a socket that appeared during the claim stays', async () => {
  const path = join(folder, 'a.sock');
  let reached = 0;
  const other = createServer((socket) => {
    reached++;
    socket.destroy();
  });
  servers.push(other);
  const late = claimSocket(path, async (bound) => {
    await listen(bound);
    await new Promise<void>((resolve) => other.listen(path, resolve));
  });
  await expect(late).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
  reached = 0;
  expect(await probeSocket(path)).toBe('live');
  expect(reached).toBe(1);
  expect(readdirSync(folder)).toEqual(['a.sock']);
});

test.each(['nothing', 'a stale socket'])(
  'given %s at the path, only one of many concurrent claims gets it',
  async (was) => {
    const path = join(folder, 'new/a.sock');
    if (was !== 'nothing') {
      mkdirSync(join(folder, 'new'));
      await leaveStaleSocket(path);
    }
    const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => claimSocket(path, listen)));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'ALREADY_EXISTS' });
    expect(await probeSocket(path)).toBe('live');
    expect(readdirSync(join(folder, 'new'))).toEqual(['a.sock']);
  },
);

test('a path over a link to the folder is the same socket', async () => {
  mkdirSync(join(folder, 'real'));
  symlinkSync(join(folder, 'real'), join(folder, 'link'));
  await claimSocket(join(folder, 'real/a.sock'), listen);
  await expect(claimSocket(join(folder, 'link/a.sock'), listen)).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
});

test('a missing folder is made', async () => {
  const path = join(folder, 'run/cpusetd/a.sock');
  await claimSocket(path, listen);
  expect(await probeSocket(path)).toBe('live');
});

test.each`
  what                         | prepare                                                  | path                         | code                     | message
  ${'another process answers'} | ${(path: string) => listen(path)}                        | ${'a.sock'}                  | ${'ALREADY_EXISTS'}      | ${'another process answers there; stop it'}
  ${'a file is in the way'}    | ${(path: string) => writeFileSync(path, '')}             | ${'a.sock'}                  | ${'FAILED_PRECONDITION'} | ${'a file that is no socket is there'}
  ${'a folder is in the way'}  | ${(path: string) => mkdirSync(path)}                     | ${'a.sock'}                  | ${'FAILED_PRECONDITION'} | ${'a file that is no socket is there'}
  ${'a link is in the way'}    | ${(path: string) => symlinkSync('/nowhere', path)}       | ${'a.sock'}                  | ${'FAILED_PRECONDITION'} | ${'a file that is no socket is there'}
  ${'the folder is a file'}    | ${(path: string) => writeFileSync(join(path, '..'), '')} | ${'file/a.sock'}             | ${'FAILED_PRECONDITION'} | ${'not a folder'}
  ${'the path is too long'}    | ${() => undefined}                                       | ${`${'x'.repeat(100)}.sock`} | ${'INVALID_ARGUMENT'}    | ${'too long for a socket'}
`(
  'given $what, the claim is refused with a reason, and all files stay',
  async ({ prepare, path: name, code, message }) => {
    const path = join(folder, name);
    await prepare(path);
    const before = readdirSync(folder);
    await expect(claimSocket(path, listen)).rejects.toMatchObject({ code, message: expect.stringContaining(message) });
    expect(readdirSync(folder)).toEqual(before);
  },
);

test('a folder that can never be created is refused after a bounded number of attempts', async () => {
  await expect(claimSocket('/proc/nowhere/a.sock', listen)).rejects.toMatchObject({
    code: 'FAILED_PRECONDITION',
    message: expect.stringContaining('/proc/nowhere/a.sock'),
  });
});

test('a listener that fails leaves no file', async () => {
  const path = join(folder, 'a.sock');
  await expect(claimSocket(path, () => Promise.reject(new Error('no')))).rejects.toMatchObject({
    code: 'FAILED_PRECONDITION',
  });
  expect(readdirSync(folder)).toEqual([]);
});

test('only our own socket is removed', async () => {
  const path = join(folder, 'a.sock');
  const remove = await claimSocket(path, listen);
  rmSync(path);
  await listen(path);
  remove();
  expect(await probeSocket(path)).toBe('live');
});

test('removing twice is harmless', async () => {
  const path = join(folder, 'a.sock');
  const remove = await claimSocket(path, listen);
  remove();
  remove();
  expect(await probeSocket(path)).toBe('absent');
});

test('given a socket in a folder that this user may not search, then it is denied', async () => {
  const closed = join(folder, 'closed');
  mkdirSync(closed);
  await listen(join(closed, 'a.sock'));
  chmodSync(closed, 0);
  const isRoot = process.getuid!() === 0;
  if (isRoot) process.seteuid!(65_534); // nobody: root may search every folder
  try {
    expect(await probeSocket(join(closed, 'a.sock'))).toBe('denied');
  } finally {
    if (isRoot) process.seteuid!(0);
    chmodSync(closed, 0o700);
  }
});
