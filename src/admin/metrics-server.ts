import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { CpusetdError } from '../core/errors';
import type { AdminLog } from './grpc-service';
import { formatHostPort, type HostPort } from './host-port';
import type { Metrics } from './metrics';

export interface MetricsServer {
  readonly port: number;
  /** Ends open connections too. May be called twice. */
  close(): Promise<void>;
}

/**
 * Serves `GET /metrics` over HTTP, figures of the process itself included.
 *
 * Throws CpusetdError FAILED_PRECONDITION when the address can't be had.
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
  const server = createServer({ requestTimeout: 5_000, headersTimeout: 5_000 }, (request, response) => {
    const [path] = (request.url ?? '').split('?');
    if (path !== '/metrics') return void response.writeHead(404).end('not found; metrics are at /metrics\n');
    if (request.method !== 'GET') return void response.writeHead(405, { allow: 'GET' }).end();
    metrics.expose().then(
      (text) => response.writeHead(200, { 'content-type': metrics.contentType }).end(text),
      (error: unknown) => {
        log.error({ err: error }, 'metrics could not be read');
        response.writeHead(500).end();
      },
    );
  });
  server.maxConnections = 32;
  try {
    await listen(server, address);
  } catch (error) {
    const message = `can't listen on ${formatHostPort(address)} for metrics: it is in use, or no address of this machine; choose another --metrics-address`;
    throw new CpusetdError('FAILED_PRECONDITION', message, { cause: error });
  }
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

function listen(server: Server, { host, port }: HostPort): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
}
