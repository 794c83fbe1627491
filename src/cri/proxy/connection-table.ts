import type { Socket } from 'node:net';
import { tooManyConnections } from './proxy-errors';
import type { ProxyConnection } from './connection/proxy-connection';

export interface ConnectionLimits {
  /** Most connections without a call in flight. */
  readonly maxIdle: number;
  /** A connection counts as idle after this time without a call: its client may be about to make one. */
  readonly minIdleMs: number;
  /** The same before the first call. */
  readonly firstCallMs: number;
  /** Most connections of any kind. */
  readonly max: number;
}

/** Most connections beyond the limit that are still open to read their GOAWAY. */
const MAX_CLOSING = 64;

/**
 * All connections of clients. A new client is always accepted; where that exceeds a limit, another connection is
 * closed.
 *
 * Beyond `maxIdle` connections without a call the longest idle are closed gracefully. At `max` one is closed at once:
 * first one that has sent nothing, then one that is leaving or idle, then the one without traffic for longest. So a
 * client that leaks connections mostly loses its own.
 */
export class ConnectionTable {
  /** Oldest first in each. */
  private readonly silent = new Set<Socket>();
  private readonly connecting = new Set<Socket>();
  private readonly established = new Set<ProxyConnection>();
  private readonly idle = new Map<ProxyConnection, { readonly sinceMs: number }>();
  private idleTimer: NodeJS.Timeout | undefined;
  private readonly leaving = new Set<ProxyConnection>();
  private readonly closing = new Set<ProxyConnection>();

  /** `onEviction` gets the limit for which a connection is closed. */
  constructor(
    readonly limits: ConnectionLimits,
    readonly onEviction: (limit: 'maxIdle' | 'max') => void,
  ) {}

  get size(): number {
    return this.silent.size + this.connecting.size + this.established.size;
  }

  get connections(): ReadonlySet<ProxyConnection> {
    return this.established;
  }

  /** Adds a client that has connected and sent nothing. */
  addSilent(socket: Socket): void {
    this.evictAtMax();
    this.silent.add(socket);
    socket.once('close', () => {
      this.silent.delete(socket);
      this.connecting.delete(socket);
    });
  }

  /** The client has begun HTTP/2, and its connection to the runtime is being opened. */
  noteOpened(socket: Socket): void {
    if (this.silent.delete(socket)) this.connecting.add(socket);
  }

  /** Adds a connection that is served from now on. */
  addConnection(socket: Socket, connection: ProxyConnection): void {
    this.connecting.delete(socket);
    this.established.add(connection);
    const timer = setTimeout(() => {
      if (!this.idle.has(connection)) this.noteUse(connection);
    }, this.limits.firstCallMs);
    connection.closed.then(
      () => {
        clearTimeout(timer);
        for (const each of [this.established, this.idle, this.leaving, this.closing]) each.delete(connection);
      },
      () => undefined,
    ); // `closed` never rejects
  }

  /** A call began, or the last one ended: the connection is the least idle one now. */
  noteUse(connection: ProxyConnection): void {
    this.idle.delete(connection);
    if (!this.established.has(connection) || this.leaving.has(connection) || this.closing.has(connection)) return;
    if (!connection.isIdle) return;
    this.idle.set(connection, { sinceMs: performance.now() });
    this.evictIdle();
  }

  /** Closes a connection without a call in flight: a silent one, else the longest idle. False when there is none. */
  dropIdle(): boolean {
    const [silent] = this.silent;
    if (silent !== undefined) {
      this.silent.delete(silent);
      silent.destroy();
      return true;
    }
    const connection = [this.leaving, this.idle.keys(), this.established]
      .map((each) => this.findWithoutCalls(each))
      .find((found) => found !== undefined);
    if (connection !== undefined) this.close(connection);
    return connection !== undefined;
  }

  /** Closes the connections whose client has sent nothing. */
  closeSilent(): void {
    for (const socket of this.silent) socket.destroy();
  }

  private evictAtMax(): void {
    if (this.size - this.closing.size < this.limits.max) return;
    this.onEviction('max');
    if (!this.dropIdle()) {
      const quietest = this.findQuietest();
      if (quietest !== undefined) this.close(quietest);
    }
    if (this.closing.size <= MAX_CLOSING) return;
    const [oldest] = this.closing;
    oldest!.kubelet.destroy();
  }

  private findQuietest(): ProxyConnection | undefined {
    let found: ProxyConnection | undefined;
    for (const connection of this.established)
      if (!this.closing.has(connection) && (found === undefined || connection.lastTrafficAt < found.lastTrafficAt))
        found = connection;
    return found;
  }

  private findWithoutCalls(connections: Iterable<ProxyConnection>): ProxyConnection | undefined {
    for (const connection of connections) if (connection.isIdle && !this.closing.has(connection)) return connection;
    return undefined;
  }

  private evictIdle(): void {
    for (const [connection, { sinceMs }] of this.idle) {
      if (this.idle.size <= this.limits.maxIdle) return;
      const waitMs = sinceMs + this.limits.minIdleMs - performance.now();
      if (waitMs > 0) {
        this.idleTimer ??= setTimeout(() => {
          this.idleTimer = undefined;
          this.evictIdle();
        }, waitMs).unref();
        return;
      }
      this.idle.delete(connection);
      this.leaving.add(connection);
      connection.leave();
      this.onEviction('maxIdle');
    }
  }

  private close(connection: ProxyConnection): void {
    this.idle.delete(connection);
    this.leaving.delete(connection);
    this.closing.add(connection);
    connection.stop(tooManyConnections);
  }
}
