import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { AnnotatorMetrics } from './metrics';

export interface HealthServer {
  readonly port: number;
  close(): Promise<void>;
}

/** Requests are a few hundred bytes. */
const LIMITS = {
  requestTimeout: 5_000,
  headersTimeout: 5_000,
  connectionsCheckingInterval: 1_000,
  keepAliveTimeout: 65_000,
  maxHeaderSize: 8 * 1024,
};
const SILENCE_MS = 75_000;
const MAX_CONNECTIONS = 64;

/**
 * Serves `GET /healthz` (200 `ok`, for as long as the process lives) and `GET /metrics` on all addresses of the machine. Throws the system's
 * error when it can't listen.
 */
export async function startHealthServer(port: number, metrics: AnnotatorMetrics): Promise<HealthServer> {
  const server = createServer(LIMITS, (request, response) => {
    const [path] = (request.url ?? '').split('?');
    if (request.method !== 'GET' && request.method !== 'HEAD') refuse(response, 405, { allow: 'GET' });
    else if (path === '/healthz') response.writeHead(200, { 'content-type': 'text/plain' }).end('ok');
    else if (path === '/metrics') expose(metrics, response);
    else refuse(response, 404);
  });
  server.timeout = SILENCE_MS;
  server.maxConnections = MAX_CONNECTIONS;
  await listen(server, port);
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function expose(metrics: AnnotatorMetrics, response: ServerResponse): void {
  metrics.expose().then(
    (text) => response.writeHead(200, { 'content-type': metrics.contentType }).end(text),
    () => refuse(response, 500),
  );
}

function refuse(response: ServerResponse, status: number, headers: Readonly<Record<string, string>> = {}): void {
  response.writeHead(status, { connection: 'close', ...headers }).end();
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, () => {
      server.off('error', reject);
      server.on('error', () => undefined); // a connection that was not accepted
      resolve();
    });
  });
}
