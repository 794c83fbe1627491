import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * The Service of several replicas: an HTTP server on loopback that passes each request on to another one of them, in
 * turn.
 */
export class AlternatingServer {
  /** The number of requests by path. */
  readonly counts = new Map<string, number>();
  private next = 0;

  private constructor(private readonly ports: readonly number[]) {}

  /** @param ports of the replicas on loopback */
  static async start(
    ports: readonly number[],
  ): Promise<{ readonly port: number; readonly stop: () => Promise<void>; readonly server: AlternatingServer }> {
    const alternating = new AlternatingServer(ports);
    const server = createServer((question, answer) => alternating.passOn(question, answer));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const stop = async (): Promise<void> => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    };
    return { port: (server.address() as AddressInfo).port, stop, server: alternating };
  }

  private passOn(question: IncomingMessage, answer: ServerResponse): void {
    const { method, url: path = '/', headers } = question;
    this.counts.set(path, (this.counts.get(path) ?? 0) + 1);
    const port = this.ports[this.next++ % this.ports.length]!;
    const call = request({ host: '127.0.0.1', port, method, path, headers }, (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(answer);
    });
    call.once('error', () => answer.writeHead(502).end());
    question.pipe(call);
  }
}
