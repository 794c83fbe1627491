import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';

import { meaningOf, systemCodeOf } from '../../core/system-errors';
import { claimSocket } from '../../net/claim-socket';
import { formatHostPort, type HostPort } from '../../net/host-port';
import { LimitedConnections } from '../../net/limited-connections';

/** Takes one connection. */
export type ConnectionHandler = (socket: Socket) => void;

/**
 * An address on which we listen before its server exists; connections wait. So a wrong address is reported before the
 * daemon starts, and the server is loaded later.
 */
export interface Listener {
  /** Undefined for a unix socket. */
  readonly port: number | undefined;
  /** Passes all connections to the handler, waiting ones first. */
  open(handle: ConnectionHandler): void;
  /** Stops listening and removes the socket. May be called twice. */
  close(): void;
}

/** Most connections that wait for the listener to open; above that the oldest is closed. */
const MAX_WAITING = 64;

/**
 * Listens on a unix socket that only its owner can ever open, or over TCP.
 *
 * Throws CpusetdError like `claimSocket` for a path, and the system's error (EADDRINUSE, EADDRNOTAVAIL) for an address.
 */
export async function listenAt(at: string | HostPort, onFault: (error: Error) => void): Promise<Listener> {
  const waiting = new LimitedConnections(MAX_WAITING);
  let handle: ConnectionHandler = (socket) => waiting.add(socket);
  const server = createServer((socket) => {
    socket.on('error', () => undefined); // `close` follows
    handle(socket);
  });
  const removeSocket =
    typeof at === 'string'
      ? await claimSocket(at, (path) => listen(server, { path }))
      : await listen(server, at).then(() => () => undefined);
  server.on('error', onFault); // a connection could not be accepted, for lack of file descriptors
  return {
    port: typeof at === 'string' ? undefined : (server.address() as AddressInfo).port,
    open: (to) => {
      handle = to;
      for (const socket of waiting.release()) to(socket);
    },
    close: () => {
      removeSocket();
      waiting.close();
      server.close();
    },
  };
}

/** The message for an address that can't be listened on, with its option. */
export function explainListen(error: unknown, { address, option }: { address: HostPort; option: string }): string {
  const code = systemCodeOf(error) ?? 'unknown error';
  const reason = meaningOf('listen on an address', code) ?? code;
  return `can't listen on ${formatHostPort(address)}: ${reason}; ${code === 'EADDRINUSE' ? 'free it, or choose' : 'choose'} another ${option}`;
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
