import type { Socket } from 'node:net';
import { awaitOpening } from './connection/await-opening';
import { connectPatiently, isShortage } from '../../net/connect-unix';
import { ConnectionTable, type ConnectionLimits } from './connection-table';
import { readDescriptorLimit } from './descriptor-limit';
import { MemoryBudget } from './memory-budget';
import type { Interceptors } from './interceptor';
import type { ReportFault } from './connection/intercepted-call';
import { listenOnDescriptor, listenPrivately, type Listener } from './listen';
import type { ProxyConnectionOptions } from './connection/connection-context';
import { stopping } from './proxy-errors';
import { ProxyConnection } from './connection/proxy-connection';
import type { UpstreamMonitor } from './upstream-monitor';

const MEBIBYTE = 1_048_576;
/** More connections than any node needs, and few enough for its memory. */
const MAX_CONNECTIONS = 4_096;
const MAX_IDLE_CONNECTIONS = 256;
const MIN_IDLE_MS = 1_000;
/** A client sends first. grpc-go waits 120 s, but a client that is up needs less than a second. */
const OPENING_TIMEOUT_MS = 10_000;
/** Repeated faults are reported once in this time. */
const REPORT_PAUSE_MS = 60_000;

export interface CriProxyOptions {
  /** The socket for the kubelet: a path to listen on, or the descriptor of an inherited listening socket. */
  readonly listen: { readonly path: string } | { readonly fd: number };
  /** Has the path of the runtime's socket, which need not exist yet; the proxy reports to it. The caller closes it. */
  readonly upstream: UpstreamMonitor;
  readonly interceptors: Interceptors;
  /** Methods that stream without an end; a drain does not wait for their calls. */
  readonly endlessPaths: readonly string[];
  /** Reports faults that no peer sees. */
  readonly reportFault: ReportFault;
  /**
   * Longest request or answer that is intercepted. Default: 16 MiB, a little more than runtime and kubelet allow each
   * other.
   */
  readonly maxMessageBytes?: number;
  /** Most request data held at once, over all calls. */
  readonly maxHeldBytes?: number;
  /**
   * Most memory of open calls beside their messages: 0.5 KiB for each, 2 KiB and the metadata for an intercepted one.
   */
  readonly maxOpenCallBytes?: number;
  /** Most connections at once. Default: 4,096, or a quarter of the descriptors when that is less; each takes two. */
  readonly maxConnections?: number;
  /** Most connections without a call in flight. Default: 256, at most half of `maxConnections`. */
  readonly maxIdleConnections?: number;
  /** Time without a call before a connection counts as idle. */
  readonly minIdleMs?: number;
  /** Time for a client to begin HTTP/2, and then to make its first call before the connection counts as idle. */
  readonly openingTimeoutMs?: number;
}

/** Connections and calls that are open now. */
export interface CriProxyStats {
  readonly connections: number;
  readonly callsInFlight: number;
  readonly heldBytes: number;
  /** Undefined before the first attempt to reach it. */
  readonly isRuntimeUp: boolean | undefined;
}

/**
 * A listening CRI proxy: forwards all calls between kubelet and runtime, and runs the interceptors of methods that have
 * one.
 */
export class CriProxy {
  private readonly table: ConnectionTable;
  private readonly held: MemoryBudget;
  private readonly connectionOptions: ProxyConnectionOptions;
  private readonly reportedAt = new Map<string, number>();
  private isStopping = false;

  private constructor(
    readonly options: CriProxyOptions,
    readonly listener: Listener,
  ) {
    this.held = new MemoryBudget(options.maxHeldBytes ?? 64 * MEBIBYTE);
    this.connectionOptions = {
      interceptors: options.interceptors,
      maxMessageBytes: options.maxMessageBytes ?? 16 * MEBIBYTE + 65_536,
      held: this.held,
      open: new MemoryBudget(options.maxOpenCallBytes ?? 64 * MEBIBYTE),
      reportFault: options.reportFault,
      endlessPaths: new Set(options.endlessPaths),
    };
    options.upstream.subscribe((isUp) => {
      if (isUp) for (const connection of this.table.connections) connection.reconnect();
    });
    const limits = chooseLimits(options);
    this.table = new ConnectionTable(limits, (limit) => this.reportRarely(describeEviction(limit, limits)));
    listener.server.on('connection', (kubelet) => {
      this.accept(kubelet).catch((err: unknown) => {
        kubelet.destroy();
        this.reportRarely('a connection of the kubelet failed', err);
      });
    });
    // A connection that can't be accepted, since no descriptor is left, does not end the proxy: a later one may be
    // accepted.
    listener.server.on('error', (err) => this.reportRarely('a connection could not be accepted', err));
  }

  /** Begins to listen. Throws as `listenPrivately`. */
  static async open(options: CriProxyOptions): Promise<CriProxy> {
    const { listen } = options;
    return new CriProxy(
      options,
      'fd' in listen ? await listenOnDescriptor(listen.fd) : await listenPrivately(listen.path),
    );
  }

  get stats(): CriProxyStats {
    let callsInFlight = 0;
    for (const connection of this.table.connections) callsInFlight += connection.callsInFlight;
    const isRuntimeUp = this.options.upstream.isUp;
    return { connections: this.table.size, callsInFlight, heldBytes: this.held.used, isRuntimeUp };
  }

  /**
   * Accepts no more connections, waits for the calls in flight, and closes. After `timeoutMs` the rest is answered
   * UNAVAILABLE. Resolves when everything is closed, with the number of these calls.
   */
  async drain({ timeoutMs }: { readonly timeoutMs: number }): Promise<number> {
    this.isStopping = true;
    const closed = this.listener.close();
    const { connections } = this.table;
    let unfinished = 0;
    const stop = (): void => {
      unfinished = this.stats.callsInFlight;
      for (const connection of connections) connection.stop(stopping);
    };
    const timer = setTimeout(stop, timeoutMs);
    this.table.closeSilent();
    for (const connection of connections) connection.drain();
    await Promise.all([closed, ...[...connections].map((connection) => connection.closed)]);
    clearTimeout(timer);
    return unfinished;
  }

  private async accept(kubelet: Socket): Promise<void> {
    kubelet.on('error', () => undefined); // `close` follows
    this.table.addSilent(kubelet);
    if (this.isStopping) kubelet.destroy();
    if (!(await awaitOpening(kubelet, this.options.openingTimeoutMs ?? OPENING_TIMEOUT_MS))) return;
    this.table.noteOpened(kubelet);
    let runtime: Socket | undefined;
    try {
      runtime = await connectPatiently(this.options.upstream.path, () => void this.table.dropIdle());
    } catch (err) {
      if (isShortage(err)) {
        this.reportRarely('no connection to the runtime can be made', err);
        kubelet.destroy();
      }
    }
    if (kubelet.destroyed || this.isStopping) {
      runtime?.destroy();
      kubelet.destroy();
      return;
    }
    const connection: ProxyConnection = new ProxyConnection(kubelet, runtime, this.connectionOptions, {
      onRuntimeGone: () => this.options.upstream.reportGone(),
      onUse: () => this.table.noteUse(connection),
    });
    this.table.addConnection(kubelet, connection);
    connection.start();
    if (runtime === undefined) this.options.upstream.reportGone();
    else this.options.upstream.reportUp();
  }

  private reportRarely(what: string, err?: unknown): void {
    const now = performance.now();
    if (now - (this.reportedAt.get(what) ?? -Infinity) < REPORT_PAUSE_MS) return;
    this.reportedAt.set(what, now);
    this.options.reportFault(err === undefined ? { what } : { what, err });
  }
}

/** Half of the descriptors are left for all other uses, and each connection may take two. */
function chooseLimits(options: CriProxyOptions): ConnectionLimits {
  const max = options.maxConnections ?? Math.max(1, Math.min(MAX_CONNECTIONS, Math.floor(readDescriptorLimit() / 4)));
  const maxIdle = options.maxIdleConnections ?? Math.min(MAX_IDLE_CONNECTIONS, Math.floor(max / 2));
  const firstCallMs = options.openingTimeoutMs ?? OPENING_TIMEOUT_MS;
  return { max, maxIdle, minIdleMs: options.minIdleMs ?? MIN_IDLE_MS, firstCallMs };
}

function describeEviction(limit: 'maxIdle' | 'max', { max, maxIdle }: ConnectionLimits): string {
  return limit === 'maxIdle'
    ? `more than ${maxIdle} connections without a call are open, the longest idle are closed: a client leaves its connections open`
    : `${max} connections are open, for each new one the longest silent is closed: a client leaves its connections open`;
}
