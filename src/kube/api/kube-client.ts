import { setMaxListeners } from 'node:events';
import { request as requestHttp, type Agent, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as requestHttps, type RequestOptions as HttpsOptions } from 'node:https';
import { isIP } from 'node:net';
import type { WebSocket } from 'ws';
import { systemCodeOf } from '../../core/system-errors';
import { ConnectionPool } from './connection-pool';
import { KubeError } from './kube-error';
import { loadKubeConfig, type GuardedKubeConfig, type KubeConfigSource } from './load-kube-config';
import { readBody, readEvents, readFailure, readItems } from './read-response';
import { untilAborted, withinTime } from './within-time';

const DEFAULT_TIMEOUT_MS = 15_000;
/** TCP keep-alive begins after this time without data. */
const KEEP_ALIVE_MS = 30_000;
/** Longest message of a WebSocket that is accepted; servers send what fits into their buffer of some KiB. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

export interface KubeRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Begins with a slash. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly contentType?: string;
  /** The wanted content type of the answer; `application/json` by default. */
  readonly accept?: string;
  readonly timeoutMs?: number;
  /** Called directly before each sending, after all waiting. It throws when the request must not be sent any more. */
  readonly beforeSend?: () => void;
  /**
   * Takes each item of a list as it comes, so that a long list is never in memory as a whole; the answer then has no
   * items.
   */
  readonly onItem?: (item: unknown) => void;
  /** An item has more in it than is read, and is left out. Without this, the call fails then. */
  readonly onUnread?: (because: string) => void;
  /** The Host header, for a server behind the API server; its own name by default. */
  readonly host?: string;
}

/** A connection through the API server. */
export interface KubeUpgrade {
  /** Begins with a slash. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** The subprotocol of the WebSocket. */
  readonly protocol: string;
  readonly timeoutMs: number;
}

export interface KubeWatch {
  /** Path of the collection; begins with a slash. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly accept?: string;
  /** Maximum time until the answer begins, credentials included. */
  readonly answerMs: number;
  /** Maximum time from then on. */
  readonly lifeMs: number;
  /** The answer has begun: the server sends changes from now on. */
  readonly onOpen: () => void;
  /** `type`: ADDED, MODIFIED, DELETED or BOOKMARK. */
  readonly onEvent: (type: string, object: unknown) => void;
  /** The object of an event has more in it than is read, and is left out. Without this, the watch fails then. */
  readonly onUnread?: (because: string) => void;
}

/** Content types of patches. */
export const MERGE_PATCH = 'application/merge-patch+json';
export const STRATEGIC_MERGE_PATCH = 'application/strategic-merge-patch+json';
/** Asks for the metadata of an object alone. */
export const ONLY_METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';

export interface KubeClientOptions {
  /** `cpusetd` by default. */
  readonly userAgent?: string;
}

/**
 * Calls the API server with the identity of a kubeconfig or of the pod's service account. The library provides
 * identity, TLS and refreshed tokens. Its typed clients are not used, since the models of all of Kubernetes are larger
 * than the daemon. Connections are kept and used again.
 */
export class KubeClient {
  private loaded: Promise<GuardedKubeConfig> | undefined;
  private readonly connections = new ConnectionPool();

  constructor(
    private readonly source: KubeConfigSource,
    private readonly signal: AbortSignal,
    private readonly options: KubeClientOptions = {},
  ) {
    setMaxListeners(0, signal); // each call in flight listens to it, and Node warns of more than ten
    signal.addEventListener('abort', () => this.connections.close(), { once: true });
  }

  /** Reads the kubeconfig once, and again after a failure: it may appear or change while we run. Throws KubeError. */
  config(): Promise<GuardedKubeConfig> {
    this.loaded ??= loadKubeConfig(this.source, { signal: this.signal }).catch((error: unknown) => {
      this.loaded = undefined;
      throw error;
    });
    return this.loaded;
  }

  /** The next call reads the kubeconfig anew. */
  forgetConfig(): void {
    this.loaded = undefined;
  }

  /**
   * Returns the parsed JSON of a successful answer. Throws KubeError for every other outcome, also when the daemon
   * ends. One time limit covers reading the kubeconfig, getting credentials, connecting, and the whole answer.
   */
  async send(call: KubeRequest): Promise<unknown> {
    return this.ask(call, call.timeoutMs ?? DEFAULT_TIMEOUT_MS, async (response) => {
      const { onItem, onUnread } = call;
      const isList = onItem !== undefined && response.statusCode === 200;
      return isList ? readItems(response, onItem, onUnread) : readBody(response);
    });
  }

  /**
   * Passes on the events of a watch one by one, and resolves when the server has ended it. Throws KubeError for every
   * other outcome, also for an error that the server sends in the watch, and when the daemon ends. One time limit holds
   * until the answer begins, another from then on.
   */
  async watch(call: KubeWatch): Promise<void> {
    const query = { ...call.query, watch: 'true' };
    const { path, accept, answerMs } = call;
    await this.ask(
      { method: 'GET', path, query, ...(accept !== undefined && { accept }) },
      answerMs,
      async (response, extend) => {
        extend(call.lifeMs);
        response.socket.setKeepAlive(true, KEEP_ALIVE_MS);
        call.onOpen();
        await readEvents(response, call.onEvent, call.onUnread);
      },
    );
  }

  /**
   * Opens a WebSocket and has `take` use it; it is closed then. It is paused, so that no message comes before `take`
   * listens. Throws KubeError when the server does not open it.
   */
  async upgrade<T>(
    { path, query, protocol, timeoutMs }: KubeUpgrade,
    take: (socket: WebSocket, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    return this.ask(
      // The kubelet answers 406 to a request that accepts JSON only.
      { method: 'GET', path, query, accept: '*/*', protocol },
      timeoutMs,
      async (answer, _extend, limit) => {
        const { webSocket } = answer;
        if (!webSocket) throw new KubeError('the API server does not open a WebSocket there', 0);
        try {
          return await take(webSocket, limit);
        } finally {
          webSocket.terminate();
        }
      },
    );
  }

  /** Sends the request and has `take` read a successful answer. */
  private async ask<T>(
    call: AnyRequest,
    timeoutMs: number,
    take: (response: Upgraded, extend: (timeoutMs: number) => void, limit: AbortSignal) => Promise<T>,
  ): Promise<T> {
    try {
      return await withinTime({ signal: this.signal, timeoutMs }, async (limit, extend) => {
        const known = this.loaded;
        const exchange = async (): Promise<T> => {
          const config = await untilAborted(this.config(), limit, () => 'the kubeconfig did not come in time');
          return this.exchange(config, call, limit, (response) => take(response, extend, limit));
        };
        try {
          return await exchange();
        } catch (error) {
          // The credentials may be of before a renewal: they are read again, once.
          if (known === undefined || !(error instanceof KubeError && error.status === 401)) throw error;
          return await exchange();
        }
      });
    } catch (error) {
      throw error instanceof KubeError ? error : new KubeError((error as Error).message, 0, { cause: error });
    }
  }

  private async exchange<T>(
    config: GuardedKubeConfig,
    call: AnyRequest,
    signal: AbortSignal,
    take: (response: Upgraded) => Promise<T>,
  ): Promise<T> {
    const server = config.getCurrentCluster()?.server;
    if (server === undefined) throw new KubeError('the kubeconfig names no cluster for its current context', 0);
    const url = new URL(server.replace(/\/$/, '') + call.path);
    for (const [name, value] of Object.entries(call.query ?? {})) url.searchParams.set(name, value);

    const body = call.body === undefined ? undefined : JSON.stringify(call.body);
    const headers = headersOf(call, body, this.options);
    const options: HttpsOptions = { method: call.method, headers, signal };
    const applied = config.applyToHTTPSOptions(options);
    await untilAborted(applied, signal, () => config.delay);
    if (call.host !== undefined) keepServerName(options, url);
    if (call.protocol === undefined)
      options.agent = this.connections.choose(options.agent as Agent, url.origin, options);
    call.beforeSend?.();
    try {
      const response = await this.open(call, url, options, body);
      const { statusCode: status = 0 } = response;
      const isDone = (status >= 200 && status < 300) || (status === 101 && call.protocol !== undefined);
      if (isDone) return await take(response);
      if (status === 401) this.forgetConfig();
      throw await readFailure(response);
    } catch (error) {
      if (error instanceof KubeError) throw error;
      this.forgetConfig(); // certificates and addresses may have changed
      const why = signal.aborted ? 'it did not answer in time' : describeFault(error);
      throw new KubeError(`the API server at ${url.host} can't be reached: ${why}`, 0, { cause: error });
    }
  }

  /**
   * Sends the request. A kept connection may be closed by the server at the moment of its use: then the request, unless
   * it is a POST, is sent once more over a new connection. All other methods are repeatable as they are used here: a
   * PUT names the resource version, and patches are merges.
   */
  private async open(call: AnyRequest, url: URL, options: RequestOptions, body: string | undefined): Promise<Upgraded> {
    if (call.protocol !== undefined) return openWebSocket(url, call.protocol, options);
    try {
      return await openRequest(url, options, body);
    } catch (error) {
      if (!(error instanceof StaleConnection) || call.method === 'POST') throw error;
      this.connections.close();
      call.beforeSend?.();
      return openRequest(url, options, body);
    }
  }
}

interface AnyRequest extends KubeRequest {
  /** The subprotocol of the WebSocket that is asked for. Its connection is opened for this request alone. */
  readonly protocol?: string;
}

/** The answer to a request for a WebSocket: with status 101 the WebSocket comes with it. */
type Upgraded = IncomingMessage & { webSocket?: WebSocket };

/**
 * Otherwise the name for TLS would be that of the Host header. The agent's options come before those of the request.
 */
function keepServerName(options: HttpsOptions, url: URL): void {
  options.servername ??= isIP(hostOf(url)) === 0 ? url.hostname : '';
  const { options: ofAgent } = (options.agent ?? {}) as { readonly options?: { servername?: string | undefined } };
  if (ofAgent) ofAgent.servername ??= options.servername;
}

/** Without the brackets of an IPv6 address. */
const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '');

/** The server closed a kept connection before it answered. */
class StaleConnection extends Error {
  override readonly name = 'StaleConnection';
}

function headersOf(
  { contentType, accept, host }: AnyRequest,
  body: string | undefined,
  { userAgent }: KubeClientOptions,
): Record<string, string> {
  return {
    accept: accept ?? 'application/json',
    'user-agent': userAgent ?? 'cpusetd',
    ...(host !== undefined && { host }),
    ...(body !== undefined && {
      'content-type': contentType ?? 'application/json',
      'content-length': String(Buffer.byteLength(body)),
    }),
  };
}

/** Resolves when the head of the answer is there. */
function openRequest(url: URL, options: RequestOptions, body: string | undefined): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const begin = url.protocol === 'http:' ? requestHttp : requestHttps;
    const request = begin(url, options, resolve);
    const fail = (error: Error): void =>
      reject(request.reusedSocket && isReset(error) ? new StaleConnection(describeFault(error)) : error);
    request.once('error', fail).end(body);
  });
}

/** Resolves when the server has opened a WebSocket, or has given another answer. */
async function openWebSocket(url: URL, protocol: string, options: HttpsOptions): Promise<Upgraded> {
  const { WebSocket } = await import('ws');
  return new Promise((resolve, reject) => {
    const webSocket = new WebSocket(url, protocol, {
      ...options,
      perMessageDeflate: false,
      maxPayload: MAX_MESSAGE_BYTES,
      closeTimeout: 0, // nothing comes after the server's close frame, and it may leave the connection open
    });
    webSocket.once('unexpected-response', (_request, answer) => resolve(answer));
    webSocket.once('upgrade', (answer) => {
      webSocket.once('open', () => {
        webSocket.pause();
        resolve(Object.assign(answer, { webSocket }));
      });
    });
    webSocket.on('error', reject);
  });
}

const isReset = (error: unknown): boolean => ['ECONNRESET', 'EPIPE'].includes(systemCodeOf(error) ?? '');

function describeFault(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code ?? message ?? 'unknown';
}
