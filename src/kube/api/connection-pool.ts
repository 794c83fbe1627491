import { createHash } from 'node:crypto';
import type { Agent, RequestOptions } from 'node:http';
import type { AgentOptions } from 'node:https';

/** Most connections to the API server at once; further calls wait for one. */
const MAX_CONNECTIONS = 64;
/** The API server closes idle connections after 90 s. */
const IDLE_MS = 60_000;

/** The options that a connection was opened with. */
export interface ConnectionIdentity extends Pick<
  AgentOptions,
  'ca' | 'cert' | 'key' | 'rejectUnauthorized' | 'servername'
> {
  readonly headers?: RequestOptions['headers'];
}

/**
 * Keeps connections open between calls. The client library makes an agent for each call, so that each call would have a
 * connection of its own; this keeps the first agent for as long as address and identity stay the same.
 */
export class ConnectionPool {
  private agent: Agent | undefined;
  private key = '';

  /** The agent to use: `fresh` when address or identity are others than in the last call. */
  choose(fresh: Agent, server: string, identity: ConnectionIdentity): Agent {
    const key = describeIdentity(server, identity);
    if (this.agent && key === this.key) return this.agent;
    this.close();
    // The same for direct connections and for those of the library's proxy agents.
    Object.assign(fresh, { keepAlive: true, maxSockets: MAX_CONNECTIONS, maxFreeSockets: MAX_CONNECTIONS });
    (fresh as Agent & { readonly options: AgentOptions }).options.timeout = IDLE_MS;
    this.key = key;
    return (this.agent = fresh);
  }

  /** Closes the connections that no call uses. */
  close(): void {
    for (const sockets of Object.values(this.agent?.freeSockets ?? {}))
      for (const socket of sockets ?? []) socket.destroy();
  }
}

/** A digest, since the parts hold secrets. */
function describeIdentity(server: string, identity: ConnectionIdentity): string {
  const { ca, cert, key, rejectUnauthorized, servername, headers = {} } = identity;
  const authorization = (headers as Record<string, unknown>)['Authorization'];
  const parts = [server, ca, cert, key, rejectUnauthorized, servername, authorization];
  const digest = createHash('sha256');
  for (const part of parts) digest.update(part instanceof Uint8Array ? part : String(part)).update('\0');
  return digest.digest('base64');
}
