import { buildSync } from 'esbuild';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { listenOnDescriptor, listenPrivately, type Listener } from '../../../src/cri/proxy/listen';

let folder: string;
const open: (() => unknown)[] = [];
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'lis-'))));
afterEach(async () => {
  for (const close of open.splice(0)) await close();
  rmSync(folder, { recursive: true });
});

async function listenAt(path: string): Promise<Listener> {
  const listener = await listenPrivately(path);
  listener.server.on('connection', (socket) => socket.destroy());
  open.push(() => listener.close());
  return listener;
}

function connects(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket: Socket = connect(path);
    socket.on('error', () => resolve(false));
    socket.on('connect', () => {
      socket.destroy();
      resolve(true);
    });
  });
}

test('with any umask only this user can open the socket, and the folder has no other file', async () => {
  const before = process.umask(0);
  try {
    await listenAt(join(folder, 'sub', 'cri.sock'));
  } finally {
    process.umask(before);
  }
  expect((statSync(join(folder, 'sub', 'cri.sock')).mode & 0o777).toString(8)).toBe('600');
  expect(readdirSync(join(folder, 'sub'))).toEqual(['cri.sock']);
  expect(await connects(join(folder, 'sub', 'cri.sock'))).toBe(true);
});

test('a socket on which a process listens stays, and the new listener is closed', async () => {
  const path = join(folder, 'cri.sock');
  await listenAt(path);
  await expect(listenPrivately(path)).rejects.toMatchObject({ name: 'CpusetdError', code: 'ALREADY_EXISTS' });
  expect(await connects(path)).toBe(true);
});

test('closing removes the socket, but not one that a successor put there', async () => {
  const path = join(folder, 'cri.sock');
  const first = await listenPrivately(path);
  await listenAt(join(folder, 'next'));
  renameSync(join(folder, 'next'), path);
  await first.close();
  expect(await connects(path)).toBe(true);
  await open.splice(0)[0]!();
  const second = await listenPrivately(path);
  await second.close();
  expect(existsSync(path)).toBe(false);
});

test('an inherited listening socket is served, and its file stays', async () => {
  const path = join(folder, 'cri.sock');
  const owner = createServer().listen(join(folder, 'first'));
  await new Promise((resolve) => owner.once('listening', resolve));
  renameSync(join(folder, 'first'), path); // closing the owner would remove the name it bound
  const bundle = join(folder, 'listen.js');
  buildSync({ entryPoints: ['src/cri/proxy/listen.ts'], bundle: true, platform: 'node', outfile: bundle });
  const program = `require(${JSON.stringify(bundle)}).listenOnDescriptor(3).then((listener) => {
    listener.server.on('connection', (socket) => { socket.end('from the successor'); listener.close(); });
    process.send('ready');
  })`;
  const { fd } = (owner as unknown as { _handle: { fd: number } })._handle;
  const successor = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'inherit', 'inherit', fd, 'ipc'] });
  const exited = new Promise((resolve) => successor.once('exit', resolve));
  await new Promise((resolve) => successor.once('message', resolve));
  await new Promise((resolve) => owner.close(resolve));
  const socket = connect(path);
  const received = await new Promise((resolve) => socket.once('data', (chunk) => resolve(String(chunk))));
  expect([received, await exited, existsSync(path)]).toEqual(['from the successor', 0, true]);
});

test('a descriptor that is no socket is refused with the rule and a remedy', async () => {
  await expect(listenOnDescriptor(9999)).rejects.toMatchObject({
    name: 'CpusetdError',
    message: expect.stringMatching(/^descriptor 9999 is not a socket .*: have a socket unit hand one over/) as string,
  });
});
