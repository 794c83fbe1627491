import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** What `struct sockaddr_un` has room for, without the NUL. */
export const MAX_SOCKET_PATH_BYTES = 107;

/** Connects to a unix socket. Rejects with Node's error, whose code says why. */
export async function connectSocket(path: string): Promise<Socket> {
  // Node 20 cuts a longer path off without a word, and would connect to whatever has the shorter name.
  if (Buffer.byteLength(path) > MAX_SOCKET_PATH_BYTES) {
    throw Object.assign(new Error(`the path ${path} is too long`), { code: 'ENAMETOOLONG' });
  }
  const socket = connect(path);
  await once(socket, 'connect');
  return socket;
}
