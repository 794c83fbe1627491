import { chmodSync, lstatSync, mkdtempSync, renameSync, rmSync, unlinkSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { dirname, join } from 'node:path';
import { CpusetdError } from '../../core/errors';
import { nodeFsOps } from '../../state';
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
 * others, and an old socket is replaced in one step. Throws CpusetdError when something that is no socket, or one on which
 * somebody answers, has the name, and when no socket can be made there.
 */
export async function listenPrivately(path: string): Promise<Listener> {
  try {
    await checkReplaceable(path);
    return await bindPrivately(path);
  } catch (cause) {
    throw asListenError(cause, (reason) => {
      const remedy = 'choose a path in a folder that can be written to';
      return `no socket can be made at ${path} (${reason}): ${remedy}`;
    });
  }
}

async function bindPrivately(path: string): Promise<Listener> {
  nodeFsOps.mkdir(dirname(path), 0o755);
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

/**
 * Accepts on a socket that was handed over by its number (systemd, or the process before us); its file is not ours to remove.
 * Throws CpusetdError when the number is not that of a socket.
 */
export async function listenOnDescriptor(fd: number): Promise<Listener> {
  const server = createServer({ pauseOnConnect: true });
  try {
    await listen(server, { fd });
  } catch (cause) {
    throw asListenError(cause, (reason) => {
      const remedy = 'have a socket unit hand one over, or give the path of a socket to make';
      return `descriptor ${fd} is not a socket to listen on (${reason}): ${remedy}`;
    });
  }
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
  if (!stat.isSocket()) throw unusable(`${path} exists and is not a socket: remove it, or choose another path`);
  const socket = await connectTo(path).catch(() => undefined);
  if (socket === undefined) return;
  socket.destroy();
  throw unusable(`another process answers on ${path}: stop it, or choose another path`);
}

function checkLength(path: string): void {
  if (Buffer.byteLength(path) > MAX_PATH_BYTES)
    throw unusable(`${path} is too long for a socket: ${MAX_PATH_BYTES} bytes are allowed; choose a shorter path`);
}

function unusable(message: string): CpusetdError {
  return new CpusetdError('FAILED_PRECONDITION', message);
}

/** What the system says, with the rule and the remedy; our own errors have both. */
function asListenError(cause: unknown, tell: (reason: string) => string): CpusetdError {
  if (cause instanceof CpusetdError) return cause;
  const reason = (cause as NodeJS.ErrnoException).code ?? String(cause);
  return new CpusetdError('FAILED_PRECONDITION', tell(reason), { cause });
}

function inodeOf(path: string): number | undefined {
  return lstatSync(path, { throwIfNoEntry: false })?.ino;
}
