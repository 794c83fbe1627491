import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';

import { meaningOf, systemCodeOf } from '../../core/system-errors';
import { claimSocket } from '../../net/claim-socket';
import { formatHostPort, type HostPort } from '../../net/host-port';

/** Takes a connection. */
export type Usher = (socket: Socket) => void;

/**
 * An address that is listened on, before there is anybody to serve it: whoever connects waits. So an address that can't be had is known
 * before anything else begins, and what serves it may be loaded later.
 */
export interface Door {
  /** Undefined for a unix socket. */
  readonly port: number | undefined;
  /** From now on connections go to the usher, those that wait included. */
  open(usher: Usher): void;
  /** Nobody comes in any more; the socket is removed. May be called twice. */
  close(): void;
}

/** Connections that wait for the door to open; the oldest makes room. */
const MOST_WAITING = 64;

/**
 * Listens on a unix socket that only its owner can ever open, or over TCP.
 *
 * Throws CpusetdError as `claimSocket` for a path; what the system says (EADDRINUSE, EADDRNOTAVAIL) for an address.
 */
export async function listenAt(at: string | HostPort, onFault: (error: Error) => void): Promise<Door> {
  const waiting = new Guests(MOST_WAITING);
  let usher: Usher = (socket) => waiting.add(socket);
  const server = createServer((socket) => {
    socket.on('error', () => undefined); // a connection that breaks is its own end
    usher(socket);
  });
  const removeSocket =
    typeof at === 'string'
      ? await claimSocket(at, (path) => listen(server, { path }))
      : await listen(server, at).then(() => () => undefined);
  server.on('error', onFault); // a connection that could not be accepted, for want of file descriptors
  return {
    port: typeof at === 'string' ? undefined : (server.address() as AddressInfo).port,
    open: (to) => {
      usher = to;
      for (const socket of waiting.release()) to(socket);
    },
    close: () => {
      removeSocket();
      waiting.close();
      server.close();
    },
  };
}

/** Text for an address that could not be had, with the option that names it. */
export function explainListen(error: unknown, { address, option }: { address: HostPort; option: string }): string {
  const code = systemCodeOf(error) ?? 'unknown error';
  const reason = meaningOf('listen on an address', code) ?? code;
  return `can't listen on ${formatHostPort(address)}: ${reason}; ${code === 'EADDRINUSE' ? 'free it, or choose' : 'choose'} another ${option}`;
}

/** Connections, of which a newcomer that is one too many pushes out the oldest. */
export class Guests {
  private readonly sockets = new Set<Socket>();

  constructor(private readonly most: number) {}

  get size(): number {
    return this.sockets.size;
  }

  add(socket: Socket): void {
    if (this.sockets.size >= this.most) {
      const [oldest] = this.sockets;
      this.sockets.delete(oldest!);
      oldest!.destroy();
    }
    this.sockets.add(socket);
    socket.once('close', () => this.sockets.delete(socket));
  }

  /** They are somebody else's now. */
  release(): readonly Socket[] {
    const all = [...this.sockets].filter(({ destroyed }) => !destroyed);
    this.sockets.clear();
    return all;
  }

  close(): void {
    for (const socket of this.release()) socket.destroy();
  }
}

function listen(server: Server, at: { readonly path: string } | HostPort): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen('path' in at ? at.path : { host: at.host, port: at.port }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
