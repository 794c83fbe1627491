import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** Longest path of a unix socket on Linux: `sun_path` without its final zero byte. */
export const MAX_SOCKET_PATH_BYTES = 107;

const NO_DESCRIPTOR = ['EMFILE', 'ENFILE'];
/** Temporary errors: a resource is used up here, or the queue of the listener is full. */
const SHORTAGES = [...NO_DESCRIPTOR, 'ENOBUFS', 'ENOMEM', 'EAGAIN'];
const SHORTAGE_PAUSE_MS = 50;
const MAX_TRIES = 40;

/**
 * Connects to a unix socket. The socket comes without listeners.
 *
 * Rejects with Node's error when no process listens there, and with `code` ENAMETOOLONG for a path that is too long:
 * Node 20 cuts such a path off, and would connect to another socket with the shorter name.
 */
export async function connectTo(path: string): Promise<Socket> {
  if (Buffer.byteLength(path) > MAX_SOCKET_PATH_BYTES)
    throw Object.assign(new Error(`the path ${path} is too long`), { code: 'ENAMETOOLONG' });
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.off('error', reject);
      resolve(socket);
    });
  });
}

/** True when connecting failed because a resource is used up, not because no process listens. */
export function isShortage(error: unknown): boolean {
  return SHORTAGES.includes(codeOf(error));
}

/**
 * Connects like `connectTo`, and retries for two seconds during a shortage; calls `freeDescriptors` when file
 * descriptors are used up.
 */
export async function connectPatiently(path: string, freeDescriptors: () => void): Promise<Socket> {
  for (let tries = 1; ; tries++) {
    try {
      return await connectTo(path);
    } catch (error) {
      if (!isShortage(error) || tries === MAX_TRIES) throw error;
      if (NO_DESCRIPTOR.includes(codeOf(error))) freeDescriptors();
      await delay(SHORTAGE_PAUSE_MS);
    }
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException | undefined)?.code ?? '';
}
