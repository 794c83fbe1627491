import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { answerInTurn } from './answer-in-turn';
import type { HostPort } from './host-port';
import { LimitedConnections } from './limited-connections';
import type { TlsPaths } from './tls-files';

export interface HttpRequest {
  readonly query: URLSearchParams;
  /** Empty for GET. */
  readonly body: Buffer;
  /** Aborts when the client is gone. */
  readonly signal: AbortSignal;
}

export interface HttpAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string | Buffer;
  /** Beside the type and the length. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Names this content: a client that has it already gets 304. In quotation marks. */
  readonly etag?: string;
}

/** An answer without an end: the client or the server ends it. */
export interface HttpStream {
  readonly contentType: string;
  /** Writes to the client until the request's signal aborts. */
  readonly stream: (to: Writable) => void;
}

export interface HttpRoute {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** Longest body of a POST. */
  readonly maxBodyBytes?: number;
  /**
   * The media type of a POST, such as `application/json`; all others are answered with 415. A page of the web can send
   * other types only. Absent: any.
   */
  readonly bodyType?: string;
  /** With a client CA, only clients with a certificate of it are answered, unless this is true. */
  readonly isPublic?: boolean;
  /** It is answered whatever the Host header says. */
  readonly anyHost?: boolean;
  readonly handle: (request: HttpRequest) => HttpAnswer | HttpStream | Promise<HttpAnswer | HttpStream>;
}

export interface HttpServerOptions {
  readonly address: HostPort;
  readonly routes: readonly HttpRoute[];
  /** For every answer, errors included. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The names of this server; a request under another one is answered with 421. Absent: any name. */
  readonly hosts?: {
    /** True for a Host header that names this server. */
    readonly accepts: (host: string, arrivedAt: string | undefined) => boolean;
    /** For the client that used another name, such as `see --http-hosts`. */
    readonly remedy: string;
  };
  /** Absent: plain HTTP. The files are read again when they change. */
  readonly tls?: TlsPaths;
  /** Most connections; above that the oldest is closed. Default: 64. */
  readonly maxConnections?: number;
  /** Maximum time until a request has arrived as a whole. Default: 5 s. */
  readonly requestMs?: number;
  readonly log: {
    readonly warn: (fields: object, message: string) => void;
    readonly error: (fields: object, message: string) => void;
  };
}

export interface HttpServer {
  readonly port: number;
  /** Ends open connections too. May be called twice. */
  close(): Promise<void>;
}

const MAX_CONNECTIONS = 64;
const REQUEST_MS = 5_000;
/** Time after which a connection without traffic is closed. Scrapes and probes come more often. */
const SILENCE_MS = 75_000;
const MAX_HEADER_BYTES = 8 * 1024;

/**
 * Serves a few routes over HTTP or HTTPS, with limits for what a peer may send. An answer of an error names no detail
 * of this host.
 *
 * Throws the system's error (EADDRINUSE, EADDRNOTAVAIL) when it can't listen on the address, and Error with a sentence
 * for the operator for TLS files that can't be used.
 */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const { address, tls, maxConnections = MAX_CONNECTIONS, requestMs = REQUEST_MS, log } = options;
  const limits = {
    requestTimeout: requestMs,
    headersTimeout: Math.min(requestMs, REQUEST_MS),
    connectionsCheckingInterval: 1_000,
    keepAliveTimeout: SILENCE_MS - 10_000,
    maxHeaderSize: MAX_HEADER_BYTES,
    requireHostHeader: false, // answered below: Node would answer any number at once
  };
  const take = answerInTurn((request, response) => {
    answer(options, request, response).catch((error: unknown) => {
      log.error({ err: error, path: pathOf(request) }, 'a request could not be answered');
      if (!response.headersSent) refuse(response, 500, '');
      else response.destroy();
    });
  });
  const files = tls && new (await import('./tls-files')).TlsFiles(tls, log);
  // Most processes serve plain HTTP or nothing, and need no TLS in memory.
  const server = files
    ? (await import('node:https')).createServer({ ...limits, ...files.read(), minVersion: 'TLSv1.2' }, take)
    : createServer(limits, take);
  if (files && 'setSecureContext' in server) files.follow((context) => server.setSecureContext(context));
  server.on('checkExpectation', take); // as for the header above
  server.timeout = SILENCE_MS;
  const connections = new LimitedConnections(maxConnections);
  server.on('connection', (socket: Socket) => connections.add(socket));
  try {
    await listen(server, address);
  } catch (error) {
    files?.close();
    throw error;
  }
  server.on('error', (err) => log.warn({ err }, 'a connection was not accepted'));
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        files?.close();
        server.close(() => resolve());
        server.closeAllConnections();
        connections.close(); // those that are still in their TLS handshake
      }),
  };
}

/** An answer in JSON. */
export function answerJson(value: unknown, status = 200): HttpAnswer {
  return { status, contentType: 'application/json', body: JSON.stringify(value) };
}

/** An answer of one line. */
export function answerText(text: string, status = 200): HttpAnswer {
  return { status, contentType: 'text/plain; charset=utf-8', body: `${text}\n` };
}

async function answer(
  { routes, headers = {}, hosts, tls }: HttpServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  if (request.headers.host === undefined && request.httpVersion === '1.1') {
    refuse(response, 400, 'the header Host is missing\n');
    return;
  }
  const path = pathOf(request);
  const candidates = routes.filter((route) => route.path === path);
  const method = request.method === 'HEAD' ? 'GET' : request.method;
  const route = candidates.find((candidate) => candidate.method === method);
  if (hosts && route?.anyHost !== true && !hosts.accepts(request.headers.host ?? '', request.socket.localAddress)) {
    refuse(response, 421, `this server is not known by that name: ${hosts.remedy}\n`);
    return;
  }
  if (!route) {
    if (candidates.length === 0) refuse(response, 404, `not found; there are ${listPaths(routes)}\n`);
    else refuse(response, 405, '', { allow: listMethods(candidates) });
    return;
  }
  if (tls?.clientCa !== undefined && route.isPublic !== true && !isAuthorized(request)) {
    refuse(response, 401, 'a client certificate of the configured authority is needed\n');
    return;
  }
  if (route.bodyType !== undefined && mediaTypeOf(request) !== route.bodyType) {
    refuse(response, 415, `the body must be of type ${route.bodyType}\n`);
    return;
  }
  const body = route.method === 'GET' ? EMPTY : await readBody(request, route.maxBodyBytes ?? 0);
  if (body === 'gone') return;
  if (body === 'too-long') {
    refuse(response, 413, `the body is longer than ${route.maxBodyBytes} bytes\n`);
    return;
  }
  const query = new URL(request.url ?? '/', 'http://host').searchParams;
  const answered = await route.handle({ query, body, signal: gone.signal });
  if ('stream' in answered) {
    response.writeHead(200, { 'content-type': answered.contentType, 'cache-control': 'no-store' });
    response.flushHeaders();
    if (request.method === 'HEAD') response.end();
    else answered.stream(response);
    return;
  }
  const { status, contentType, body: text, etag, headers: more = {} } = answered;
  const known = etag === undefined ? more : { ...more, etag };
  if (etag !== undefined && request.headers['if-none-match'] === etag) {
    response.writeHead(304, known).end();
    return;
  }
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  response.writeHead(status, { ...known, 'content-type': contentType, 'content-length': bytes.length }).end(bytes);
}

function listMethods(routes: readonly HttpRoute[]): string {
  return routes.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ');
}

/**
 * True when the client has shown a certificate of the authority. The certificate itself is asked for too: Node calls
 * every resumed session of TLS 1.3 authorized, also that of a client which has shown none (`VerifyPeerCertificate` in
 * node's src/crypto/crypto_common.cc).
 */
function isAuthorized({ socket }: IncomingMessage): boolean {
  return socket instanceof TLSSocket && socket.authorized && socket.getPeerX509Certificate() !== undefined;
}

const EMPTY = Buffer.alloc(0);

/** `gone`: the client has ended the connection, or took too long. */
async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer | 'too-long' | 'gone'> {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) return 'too-long';
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > maxBytes) return 'too-long';
      chunks.push(chunk);
    }
  } catch {
    return 'gone';
  }
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, bytes);
}

function pathOf({ url }: IncomingMessage): string {
  return (url ?? '').split('?')[0]!;
}

/** The media type of the body, without its parameters. */
function mediaTypeOf({ headers }: IncomingMessage): string {
  return (headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase();
}

function listPaths(routes: readonly HttpRoute[]): string {
  return [...new Set(routes.map(({ path }) => path))].join(', ');
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
