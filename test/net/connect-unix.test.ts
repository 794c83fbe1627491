import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { connectTo, isShortage, MAX_SOCKET_PATH_BYTES } from '../../src/net/connect-unix';

let folder: string;
let server: Server | undefined;

beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'unix-'))));

afterEach(async () => {
  await new Promise((resolve) => (server ? server.close(resolve) : resolve(undefined)));
  server = undefined;
  rmSync(folder, { recursive: true, force: true });
});

function listen(path: string): Promise<void> {
  server = createServer((socket) => socket.destroy());
  return new Promise((resolve) => server!.listen(path, resolve));
}

/** A path of exactly this many bytes in the folder. */
function pathOf(bytes: number): string {
  return join(folder, 'x'.repeat(bytes - folder.length - 1));
}

test('a socket at the longest path is connected to, and comes without listeners', async () => {
  const path = pathOf(MAX_SOCKET_PATH_BYTES);
  await listen(path);
  const socket = await connectTo(path);
  expect([socket.listenerCount('error'), socket.listenerCount('connect')]).toEqual([0, 0]);
  socket.destroy();
});

test('a longer path is refused, also when a socket with the cut name is there', async () => {
  await listen(pathOf(MAX_SOCKET_PATH_BYTES));
  await expect(connectTo(pathOf(MAX_SOCKET_PATH_BYTES + 1))).rejects.toMatchObject({ code: 'ENAMETOOLONG' });
});

test('a path at which no process listens rejects with the error of Node, which is no shortage', async () => {
  const failure: unknown = await connectTo(join(folder, 'absent.sock')).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: 'ENOENT' });
  expect(isShortage(failure)).toBe(false);
});

test.each(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EAGAIN'])('%s is a shortage', (code) => {
  expect(isShortage(Object.assign(new Error(code), { code }))).toBe(true);
});
