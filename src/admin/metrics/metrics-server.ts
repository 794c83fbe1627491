import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import { LimitedConnections } from '../server/listener';
import type { AdminLog } from '../server/unary-handler';
import type { HostPort } from '../../net/host-port';
import type { Metrics } from './metrics';

export interface MetricsServer {
  readonly port: number;
  /** Ends open connections too. May be called twice. */
  close(): Promise<void>;
}

/** A scrape is a few hundred bytes, and its answer is read at once. */
const LIMITS = {
  requestTimeout: 5_000,
  headersTimeout: 5_000,
  connectionsCheckingInterval: 1_000,
  keepAliveTimeout: 65_000, // scrapes come once a minute at most
  maxHeaderSize: 8 * 1024,
};
/** Time after which a connection without traffic is closed. */
const SILENCE_MS = 75_000;
/** Most connections; above that the oldest is closed. */
const MAX_CONNECTIONS = 32;

/**
 * Serves `GET /metrics` over HTTP, figures of the process itself included. Scrapes at one time share an answer.
 *
 * Throws the system's error (EADDRINUSE, EADDRNOTAVAIL) when it can't listen on the address.
 */
export async function startMetricsServer({
  address,
  metrics,
  log,
}: {
  readonly address: HostPort;
  readonly metrics: Metrics;
  readonly log: AdminLog;
}): Promise<MetricsServer> {
  let exposing: Promise<string> | undefined;
  const expose = (): Promise<string> =>
    (exposing ??= metrics.expose().finally(() => {
      exposing = undefined;
    }));
  const server = createServer(LIMITS, (request, response) => {
    const [path] = (request.url ?? '').split('?');
    if (path !== '/metrics') {
      refuse(response, 404, 'not found; metrics are at /metrics\n');
      return;
    }
    if (request.method !== 'GET') {
      refuse(response, 405, '', { allow: 'GET' });
      return;
    }
    expose().then(
      (text) => response.writeHead(200, { 'content-type': metrics.contentType }).end(text),
      (error: unknown) => {
        log.error({ err: error }, 'metrics could not be read');
        response.writeHead(500).end();
      },
    );
  });
  server.timeout = SILENCE_MS;
  const connections = new LimitedConnections(MAX_CONNECTIONS);
  server.on('connection', (socket) => connections.add(socket));
  await listen(server, address);
  server.on('error', (err) => log.warn({ err }, 'a connection was not accepted'));
  metrics.addProcessFigures();
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Refuses a request, and reads no more of it. */
function refuse(response: ServerResponse, status: number, text: string, headers = {}): void {
  response.writeHead(status, { connection: 'close', ...headers }).end(text);
}

function listen(server: Server, { host, port }: HostPort): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
