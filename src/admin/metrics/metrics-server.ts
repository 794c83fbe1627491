import type { HostPort } from '../../net/host-port';
import { startHttpServer, type HttpRoute, type HttpServer } from '../../net/http-server';
import type { AdminLog } from '../grpc/unary-handler';
import type { Metrics } from './metrics';

/** Most connections; above that the oldest is closed. */
const MAX_CONNECTIONS = 32;

export interface ServedMetrics {
  readonly metrics: Metrics;
  /** Memory, CPU time and more of the process itself are among the figures. Default: true. */
  readonly processFigures?: boolean;
}

/**
 * Serves `GET /metrics` over HTTP. Throws the system's error (EADDRINUSE, EADDRNOTAVAIL) when it can't listen on the
 * address.
 */
export async function startMetricsServer({
  address,
  log,
  ...served
}: ServedMetrics & { readonly address: HostPort; readonly log: AdminLog }): Promise<HttpServer> {
  const routes = [metricsRoute(served)];
  const server = await startHttpServer({ address, maxConnections: MAX_CONNECTIONS, log, routes });
  addProcessFigures(served);
  return server;
}

/** `GET /metrics`. Scrapes at one time share an answer. */
export function metricsRoute({ metrics }: ServedMetrics): HttpRoute {
  let exposing: Promise<string> | undefined;
  const expose = (): Promise<string> =>
    (exposing ??= metrics.expose().finally(() => {
      exposing = undefined;
    }));
  return {
    method: 'GET',
    path: '/metrics',
    handle: async () => ({ status: 200, contentType: metrics.contentType, body: await expose() }),
  };
}

/** Adds the figures of the process, where they are wanted, once it is known that somebody can read them. */
export function addProcessFigures({ metrics, processFigures = true }: ServedMetrics): void {
  if (processFigures) metrics.addProcessFigures();
}
