import { chmodSync, lstatSync, mkdirSync, mkdtempSync, renameSync, rmSync, unlinkSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { dirname, join } from 'node:path';
import { connectTo } from './connect';

/** Length that a unix socket's path may have on Linux, in bytes. */
const MAX_PATH_BYTES = 107;

/** A listening unix socket. Connections come paused. */
export interface Listener {
  readonly server: Server;
  /** Accepts no more and removes the socket file, unless another process has put its own in the place. */
  close(): Promise<void>;
}

/**
 * Listens on a unix socket that only this user can open.
 *
 * The socket is bound inside a directory of mode 0700, gets mode 0600 there, and only then its name: so it is never open to
 * others, and an old socket is replaced in one step. Throws when something that is no socket, or one on which somebody
 * answers, has the name.
 */
export async function listenPrivately(path: string): Promise<Listener> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
  await checkReplaceable(path);
  const privateDir = mkdtempSync(join(dirname(path), '.new-'));
  const server = createServer({ pauseOnConnect: true });
  try {
    const firstPath = join(privateDir, 's');
    checkLength(firstPath);
    await listen(server, firstPath);
    chmodSync(firstPath, 0o600);
    renameSync(firstPath, path);
  } catch (err) {
    server.close();
    throw err;
  } finally {
    rmSync(privateDir, { recursive: true, force: true });
  }
  const inode = lstatSync(path).ino;
  return {
    server,
    close: () =>
      new Promise((resolve) => {
        if (inodeOf(path) === inode) unlinkSync(path);
        server.close(() => resolve());
      }),
  };
}

/** Accepts on a socket that was handed over by its number (systemd, or the process before us); its file is not ours to remove. */
export async function listenOnDescriptor(fd: number): Promise<Listener> {
  const server = createServer({ pauseOnConnect: true });
  await listen(server, { fd });
  return { server, close: () => new Promise((resolve) => void server.close(() => resolve())) };
}

function listen(server: Server, where: string | { fd: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(where, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

async function checkReplaceable(path: string): Promise<void> {
  checkLength(path);
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return;
  if (!stat.isSocket()) throw new Error(`${path} exists and is not a socket: remove it, or choose another path`);
  const socket = await connectTo(path).catch(() => undefined);
  if (socket === undefined) return;
  socket.destroy();
  throw new Error(`another process answers on ${path}: stop it, or choose another path`);
}

function checkLength(path: string): void {
  if (Buffer.byteLength(path) > MAX_PATH_BYTES)
    throw new Error(`${path} is too long for a socket: ${MAX_PATH_BYTES} bytes are allowed`);
}

function inodeOf(path: string): number | undefined {
  return lstatSync(path, { throwIfNoEntry: false })?.ino;
}
