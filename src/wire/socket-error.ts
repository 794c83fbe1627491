import type { CloseReason } from './channel';

const PEER_LEFT_CODES = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED']);

/** Turns an error of Node's sockets into the reason of the end: the peer closed the connection, or a fault. */
export function describeSocketError(error: Error): CloseReason {
  const code = (error as NodeJS.ErrnoException).code ?? error.name;
  return PEER_LEFT_CODES.has(code)
    ? { by: 'peer', because: `the peer went away (${code})`, cause: error }
    : { by: 'fault', because: `the socket failed (${code})`, cause: error };
}
