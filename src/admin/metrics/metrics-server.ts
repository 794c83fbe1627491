import type { HostPort } from '../../net/host-port';
import { startHttpServer, type HttpServer } from '../../net/http-server';
import type { AdminLog } from '../server/unary-handler';
import type { Metrics } from './metrics';

/** Most connections; above that the oldest is closed. */
const MAX_CONNECTIONS = 32;

/**
 * Serves `GET /metrics` over HTTP. Scrapes at one time share an answer. `processFigures`: memory, CPU time and more of the process itself are
 * among the figures.
 *
 * Throws the system's error (EADDRINUSE, EADDRNOTAVAIL) when it can't listen on the address.
 */
export async function startMetricsServer({
  address,
  metrics,
  processFigures = true,
  log,
}: {
  readonly address: HostPort;
  readonly metrics: Metrics;
  readonly processFigures?: boolean;
  readonly log: AdminLog;
}): Promise<HttpServer> {
  let exposing: Promise<string> | undefined;
  const expose = (): Promise<string> =>
    (exposing ??= metrics.expose().finally(() => {
      exposing = undefined;
    }));
  const server = await startHttpServer({
    address,
    maxConnections: MAX_CONNECTIONS,
    log,
    routes: [
      {
        method: 'GET',
        path: '/metrics',
        handle: async () => ({ status: 200, contentType: metrics.contentType, body: await expose() }),
      },
    ],
  });
  if (processFigures) metrics.addProcessFigures();
  return server;
}
