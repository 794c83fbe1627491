import { connect, type Socket } from 'node:net';

/** Connects to a unix socket; rejects with Node's error when nobody answers there. The socket comes without listeners. */
export function connectTo(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.off('error', reject);
      resolve(socket);
    });
  });
}
