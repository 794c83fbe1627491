import type { CloseReason } from './channel';

const peerWentAway = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED']);

/** What an error of Node's sockets means for a connection: that the peer went away, or a fault. */
export function describeSocketError(error: Error): CloseReason {
  const code = (error as NodeJS.ErrnoException).code ?? error.name;
  return peerWentAway.has(code)
    ? { by: 'peer', because: `the peer went away (${code})`, cause: error }
    : { by: 'fault', because: `the socket failed (${code})`, cause: error };
}
