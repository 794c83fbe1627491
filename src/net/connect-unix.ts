import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const NO_DESCRIPTOR = ['EMFILE', 'ENFILE'];
/** Errors that do not mean that nobody is there: something is used up here, or the other side's queue is full for the moment. */
const SHORTAGES = [...NO_DESCRIPTOR, 'ENOBUFS', 'ENOMEM', 'EAGAIN'];
const SHORTAGE_PAUSE_MS = 50;
const MAX_TRIES = 40;

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

/** True when connecting failed for lack of something, which passes, and not because nobody is there. */
export function isShortage(error: unknown): boolean {
  return SHORTAGES.includes(codeOf(error));
}

/** As `connectTo`, but tries for two seconds while there is a shortage; `freeDescriptors` is called when it is one of descriptors. */
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
