import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

type Take = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * Takes the requests of each connection one by one: the second when the answer of the first has been sent. Node gives
 * all that a client has sent ahead at once, and keeps all answers for one that reads none; so a third request, which no
 * client sends that waits for its answers, ends the connection.
 *
 * The second has to wait rather than to end it: over TLS, Node reports a sent answer only after the client's next
 * request may have come.
 */
export function answerInTurn(take: Take): Take {
  /** The connections with a request that is being answered, and the one that waits. */
  const busy = new WeakMap<Socket, (() => void) | undefined>();
  const begin: Take = (request, response) => {
    const { socket } = request;
    // Nothing is answered after an answer that ends the connection, nor where the client has gone: the response would
    // never be closed.
    if (!socket.writable) return;
    busy.set(socket, undefined);
    response.once('close', () => {
      const next = busy.get(socket);
      busy.delete(socket);
      next?.();
    });
    take(request, response);
  };
  return (request, response) => {
    const { socket } = request;
    if (!busy.has(socket)) begin(request, response);
    else if (busy.get(socket) === undefined) busy.set(socket, () => begin(request, response));
    else socket.destroy();
  };
}
