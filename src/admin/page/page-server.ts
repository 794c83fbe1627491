import type { HostPort } from '../../net/host-port';
import { acceptHosts } from '../../net/host-names';
import { startHttpServer, type HttpRoute, type HttpServer } from '../../net/http-server';
import { createPage, PAGE_HEADERS, type PageParts } from './page-routes';

export interface PageServerOptions extends PageParts {
  readonly address: HostPort;
  /** Names beside `localhost` and the address itself by which browsers may call it. */
  readonly hosts: readonly string[];
  /** Served on the same address. */
  readonly others?: readonly HttpRoute[];
}

/**
 * Serves the page, and what it shows as data. Only GET and HEAD, and only under names that are known: the page of
 * somebody else can't read it.
 *
 * Throws the system's error (EADDRINUSE, EADDRNOTAVAIL) when it can't listen on the address.
 */
export async function startPageServer({
  address,
  hosts,
  others = [],
  ...parts
}: PageServerOptions): Promise<HttpServer> {
  const page = createPage(parts);
  const server = await startHttpServer({
    address,
    routes: [...page.routes, ...others],
    headers: PAGE_HEADERS,
    hosts: { accepts: acceptHosts([address.host, ...hosts]), remedy: 'see --http-hosts' },
    log: parts.log,
  });
  return {
    port: server.port,
    close: async () => {
      page.close();
      await server.close();
    },
  };
}
