import { createServer, type Server } from 'node:net';
import { CpusetdError } from '../../core/errors';
import { claimSocket } from '../../net/claim-socket';

/** A listening unix socket. Connections come paused. The user must also handle the server's `error` event. */
export interface Listener {
  readonly server: Server;
  /** Accepts no more, and removes the socket file unless another process has replaced it. */
  close(): Promise<void>;
}

/** Listens on a unix socket that only this user can open. Throws CpusetdError (`claimSocket`). */
export async function listenPrivately(path: string): Promise<Listener> {
  const server = createServer({ pauseOnConnect: true });
  try {
    const removeSocket = await claimSocket(path, (bound) => listen(server, { path: bound }));
    return { server, close: () => close(server, removeSocket) };
  } catch (error) {
    server.close();
    throw error;
  }
}

/**
 * Accepts on an open socket that was inherited (from systemd, or the previous process); its file is not removed.
 * Throws CpusetdError when the number is not that of a socket.
 */
export async function listenOnDescriptor(fd: number): Promise<Listener> {
  const server = createServer({ pauseOnConnect: true });
  try {
    await listen(server, { fd });
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code ?? String(cause);
    const remedy = 'have a socket unit hand one over, or give the path of a socket to make';
    const message = `descriptor ${fd} is not a socket to listen on (${reason}): ${remedy}`;
    throw new CpusetdError('FAILED_PRECONDITION', message, { cause });
  }
  return { server, close: () => close(server) };
}

/** The value that servers in Go use; the kernel limits it (`net.core.somaxconn`). */
const BACKLOG = 4096;

function listen(server: Server, where: { path: string } | { fd: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ ...where, backlog: BACKLOG }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function close(server: Server, removeSocket?: () => void): Promise<void> {
  removeSocket?.();
  return new Promise((resolve) => void server.close(() => resolve()));
}
