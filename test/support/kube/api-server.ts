import {
  createServer,
  request as requestHttp,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { mergePatch } from './merge-patch';
import { servePortForward } from './port-forward';
import { readRequest, readRights, rightOf } from './rbac';

// A fake API server for pods, nodes and events, which the server that is built in scripts/apiserver does not serve. It
// speaks the documented protocol of lists, watches (resource versions, bookmarks, 410 Gone), creations and merge
// patches over real HTTP; cpusetd uses the real client library. README.md here lists the claims that rest on it.

export type Json = Record<string, unknown>;

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly contentType: string;
  readonly accept: string;
  readonly userAgent: string;
}

/** A fault that a test wants instead of the usual answer to a request. */
export interface Trouble {
  readonly status?: number;
  readonly reason?: string;
  readonly causes?: readonly { readonly reason: string; readonly message: string }[];
  readonly retryAfterS?: number;
  /** Answer after this delay. */
  readonly delayMs?: number;
  /** Never answer. */
  readonly hang?: boolean;
}

export interface FakeApiServerOptions {
  /**
   * The rights of every client, as `group/resource verb`; those of deploy/components/api-server/rbac.yaml by default.
   */
  readonly rights?: ReadonlySet<string>;
  /** Serves over TLS with this certificate. */
  readonly tls?: { readonly cert: string; readonly key: string };
}

interface Stored {
  readonly collection: string;
  readonly object: Json;
}

interface Change {
  readonly version: number;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly collection: string;
  readonly object: Json;
}

interface Watcher {
  readonly collection: string;
  readonly matches: (object: Json) => boolean;
  readonly response: ServerResponse;
}

export class FakeApiServer {
  readonly requests: SeenRequest[] = [];
  /** Called for every request; undefined means the usual answer. */
  trouble: (request: SeenRequest) => Trouble | undefined = () => undefined;
  /** Difference of its clock from the clock of this process. */
  clockOffsetMs = 0;
  /** Ports of this machine by `namespace/pod`: there go the pod proxy and forwarded ports. */
  readonly podPorts = new Map<string, number>();
  /** Every client has these rights, and no others. */
  private readonly rights: ReadonlySet<string>;
  private readonly objects = new Map<string, Stored>();
  private readonly watchers = new Set<Watcher>();
  private readonly sockets = new Set<Socket>();
  private changes: Change[] = [];
  private version = 100;
  /** Pages of lists from before this version have expired. */
  private expiredBefore = 0;
  private server: Server | undefined;
  private port = 0;
  /** Number of connections that were accepted so far. */
  connections = 0;

  constructor(private readonly options: FakeApiServerOptions = {}) {
    this.rights = options.rights ?? readRights({ withOptional: true });
  }

  async start(): Promise<void> {
    const { tls } = this.options;
    const listener = (request: IncomingMessage, response: ServerResponse): void => void this.answer(request, response);
    const server = tls ? createTlsServer(tls, listener) : createServer(listener);
    server.on('connection', (socket: Socket) => {
      this.connections++;
      this.sockets.add(socket);
      socket.once('close', () => this.sockets.delete(socket));
    });
    server.on('upgrade', (request: IncomingMessage, socket: Duplex) => this.upgrade(request, socket));
    server.keepAliveTimeout = 5_000;
    await new Promise<void>((resolve, reject) => {
      server.on('error', (error: NodeJS.ErrnoException) => {
        // While this server was stopped, the kernel may have given its port to another connection.
        if (error.code === 'EADDRINUSE' && this.port !== 0)
          setTimeout(() => server.listen(this.port, '127.0.0.1'), 100);
        else reject(error);
      });
      server.once('listening', resolve);
      server.listen(this.port, '127.0.0.1');
    });
    this.server = server;
    this.port = (server.address() as AddressInfo).port;
  }

  /** Refuses connections until `start`, which uses the same address again. Closing twice is harmless. */
  async stop(): Promise<void> {
    const { server } = this;
    this.server = undefined;
    if (!server) return;
    const closed = new Promise((resolve) => server.close(resolve));
    this.cutConnections();
    await closed;
  }

  get url(): string {
    return `${this.options.tls ? 'https' : 'http'}://127.0.0.1:${this.port}`;
  }

  /** As a kubeconfig file's text. */
  get kubeconfig(): string {
    return JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'c', cluster: { server: this.url, 'insecure-skip-tls-verify': true } }],
      users: [{ name: 'u', user: { token: 'test' } }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    });
  }

  get openWatches(): number {
    return this.watchers.size;
  }

  /** Stores an object and sends it to the watchers. `collection`: like `/api/v1/pods`. */
  put(collection: string, object: Json): Json {
    const key = keyOf(collection, object);
    const version = ++this.version;
    const stored = { ...object, metadata: { ...metaOf(object), resourceVersion: String(version) } };
    const type = this.objects.has(key) ? 'MODIFIED' : 'ADDED';
    this.objects.set(key, { collection, object: stored });
    this.publish({ version, type, collection, object: stored });
    return stored;
  }

  remove(collection: string, object: Json): void {
    const stored = this.objects.get(keyOf(collection, object));
    if (!stored) return;
    this.objects.delete(keyOf(collection, object));
    const version = ++this.version;
    const last = { ...stored.object, metadata: { ...metaOf(stored.object), resourceVersion: String(version) } };
    this.publish({ version, type: 'DELETED', collection, object: last });
  }

  get(collection: string, name: string, namespace = ''): Json | undefined {
    return this.objects.get(`${collection}|${namespace}|${name}`)?.object;
  }

  listAll(collection: string): Json[] {
    return [...this.objects.values()].filter((stored) => stored.collection === collection).map(({ object }) => object);
  }

  /** Forgets history, as etcd's compaction does: a watch that resumes from an older version gets 410 Gone. */
  compact(): void {
    this.changes = [];
    this.version += 10;
    this.expiredBefore = this.version;
  }

  /** Forgets history except for the last changes. */
  forgetAllBut(count: number): void {
    this.changes = this.changes.slice(-count);
  }

  bookmark(): void {
    for (const { response } of this.watchers)
      send(response, { type: 'BOOKMARK', object: { metadata: { resourceVersion: String(this.version) } } });
  }

  /** Sends every watcher a text that is no event. Resolves when it is written out, or the connection is gone. */
  async babble(text: string): Promise<void> {
    const write = ({ response }: Watcher): Promise<void> =>
      new Promise((resolve) => {
        response.once('close', resolve);
        response.write(text, () => resolve());
      });
    await Promise.all([...this.watchers].map(write));
  }

  /** Ends every watch in an orderly way. */
  endWatches(): void {
    for (const { response } of this.watchers) response.end();
    this.watchers.clear();
  }

  /** Sends every watcher an ERROR event: its version is too old. */
  expireWatches(): void {
    for (const { response } of this.watchers) {
      send(response, { type: 'ERROR', object: statusOf(410, 'Expired') });
      response.end();
    }
    this.watchers.clear();
  }

  cutConnections(): void {
    for (const socket of this.sockets) socket.destroy();
    this.watchers.clear();
  }

  private publish(change: Change): void {
    this.changes.push(change);
    for (const { collection, matches, response } of this.watchers)
      if (collection === change.collection && matches(change.object))
        send(response, { type: change.type, object: change.object });
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://localhost');
    const text = await readAll(request);
    const seen: SeenRequest = {
      method: request.method ?? '',
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      body: text === '' ? undefined : JSON.parse(text),
      contentType: request.headers['content-type'] ?? '',
      accept: request.headers.accept ?? '',
      userAgent: request.headers['user-agent'] ?? '',
    };
    this.requests.push(seen);
    response.setHeader('date', new Date(Date.now() + this.clockOffsetMs).toUTCString());
    const trouble = this.trouble(seen);
    if (trouble?.hang) return;
    if (trouble?.delayMs !== undefined) await new Promise((resolve) => setTimeout(resolve, trouble.delayMs));
    if (trouble?.status !== undefined) {
      if (trouble.retryAfterS !== undefined) response.setHeader('retry-after', String(trouble.retryAfterS));
      const { causes } = trouble;
      return reply(response, trouble.status, {
        ...statusOf(trouble.status, trouble.reason ?? ''),
        ...(causes && { details: { causes } }),
      });
    }
    const asked = readRequest(seen.method, seen.path, seen.query);
    if (asked && !this.rights.has(rightOf(asked))) return reply(response, 403, statusOf(403, 'Forbidden'));
    const port = this.portOf(seen.path, 'proxy');
    if (port === undefined) this.serve(seen, response);
    else proxyTo(port, request, response);
  }

  /** The real server passes on the Host header of its client. */
  private upgrade(request: IncomingMessage, socket: Duplex): void {
    const url = new URL(request.url ?? '/', 'http://localhost');
    const rights = ['/pods/portforward get', '/pods/portforward create'];
    const [path, query] = [url.pathname, Object.fromEntries(url.searchParams)];
    const [contentType, accept, userAgent] = ['', '', request.headers['user-agent'] ?? ''];
    this.requests.push({ method: 'GET', path, query, body: undefined, contentType, accept, userAgent });
    if (rights.some((right) => !this.rights.has(right))) {
      const body = JSON.stringify(statusOf(403, 'Forbidden'));
      socket.end(
        `HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      );
      return;
    }
    if (request.headers.accept !== '*/*') {
      socket.end('HTTP/1.1 406 Not Acceptable\r\nContent-Length: 0\r\n\r\n'); // as the kubelet does
      return;
    }
    const key = request.headers['sec-websocket-key'] ?? '';
    servePortForward(socket, key, this.portOf(path, 'portforward'), Number(query['ports']));
  }

  private portOf(path: string, kind: 'proxy' | 'portforward'): number | undefined {
    const [, namespace, pod, found] =
      /^\/api\/v1\/namespaces\/([^/]+)\/pods\/([^/:]+)(?::\d+)?\/(proxy|portforward)(?:\/|$)/.exec(path) ?? [];
    return found === kind ? this.podPorts.get(`${namespace}/${pod}`) : undefined;
  }

  private serve(seen: SeenRequest, response: ServerResponse): void {
    const target = parsePath(seen.path);
    if (!target) return reply(response, 404, statusOf(404, 'NotFound'));
    const { collection, namespace, name } = target;
    if (seen.method === 'GET' && name === '') {
      const matches = selector(seen.query['fieldSelector'], namespace, seen.query['labelSelector']);
      if (seen.query['watch'] === 'true') this.watch(seen, collection, matches, response);
      else this.list(seen, this.listAll(collection).filter(matches), response);
      return;
    }
    const found = this.get(collection, name, namespace);
    if (seen.method === 'GET') return reply(response, found ? 200 : 404, found ?? statusOf(404, 'NotFound'));
    if (target.sub === 'eviction') return this.evict(seen, found, response);
    if (seen.method === 'POST') {
      const object = seen.body as Json;
      const named = { ...object, metadata: { ...metaOf(object), ...(namespace !== '' && { namespace }) } };
      if (this.objects.has(keyOf(collection, named))) return reply(response, 409, statusOf(409, 'AlreadyExists'));
      return reply(response, 201, this.put(collection, named));
    }
    if (!found) return reply(response, 404, statusOf(404, 'NotFound'));
    if (seen.method === 'PUT') {
      const isCurrent = metaOf(seen.body as Json)['resourceVersion'] === metaOf(found)['resourceVersion'];
      if (!isCurrent) return reply(response, 409, statusOf(409, 'Conflict'));
      return reply(response, 200, this.put(collection, seen.body as Json));
    }
    const merged = mergePatch(found, seen.body, seen.contentType.includes('strategic')) as Json;
    const asked = metaOf(seen.body as Json)['resourceVersion'];
    if (asked !== undefined && asked !== metaOf(found)['resourceVersion'])
      return reply(response, 409, statusOf(409, 'Conflict'));
    const stored = this.put(collection, merged);
    const isPartial = seen.accept.includes('as=PartialObjectMetadata');
    reply(response, 200, isPartial ? { kind: 'PartialObjectMetadata', metadata: stored['metadata'] } : stored);
  }

  /** As the real server does, but for disruption budgets: a test gives their answer as trouble. */
  private evict({ body }: SeenRequest, pod: Json | undefined, response: ServerResponse): void {
    if (!pod) return reply(response, 404, statusOf(404, 'NotFound'));
    const { preconditions } = ((body as Json)['deleteOptions'] ?? {}) as { preconditions?: { uid?: string } };
    if (preconditions?.uid !== undefined && preconditions.uid !== metaOf(pod)['uid']) {
      const message = `the UID in the precondition (${preconditions.uid}) does not match the UID in record`;
      return reply(response, 409, { ...statusOf(409, 'Conflict'), message });
    }
    this.remove('/api/v1/pods', pod);
    reply(response, 201, { kind: 'Status', status: 'Success', code: 201 });
  }

  /** A list in pages: the mark of the next page has the version of the first. */
  private list({ query }: SeenRequest, items: readonly Json[], response: ServerResponse): void {
    const [version = String(this.version), from = '0'] = query['continue']?.split('/') ?? [];
    if (Number(version) < this.expiredBefore) return reply(response, 410, statusOf(410, 'Expired'));
    const end = Number(from) + Number(query['limit'] ?? Infinity);
    const more = end < items.length && { continue: `${version}/${end}` };
    reply(response, 200, {
      metadata: { resourceVersion: version, ...more },
      items: items.slice(Number(from), end),
    });
  }

  private watch(seen: SeenRequest, collection: string, matches: Watcher['matches'], response: ServerResponse): void {
    const from = Number(seen.query['resourceVersion'] ?? '0');
    const oldest = this.changes[0]?.version ?? this.version + 1;
    if (from + 1 < oldest) return reply(response, 410, statusOf(410, 'Expired'));
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    const watcher = { collection, matches, response };
    this.watchers.add(watcher);
    response.once('close', () => this.watchers.delete(watcher));
    for (const change of this.changes)
      if (change.version > from && change.collection === collection && matches(change.object))
        send(response, { type: change.type, object: change.object });
  }
}

function proxyTo(port: number, request: IncomingMessage, response: ServerResponse): void {
  const path = (request.url ?? '').replace(/^.*?\/proxy(?=\/)/, '');
  const options = { host: '127.0.0.1', port, path, headers: request.headers, agent: false };
  requestHttp(options, (answer) => {
    response.writeHead(answer.statusCode ?? 0, answer.headers);
    answer.pipe(response);
  })
    .once('error', () => reply(response, 503, statusOf(503, 'ServiceUnavailable')))
    .end();
}

interface Target {
  readonly collection: string;
  readonly namespace: string;
  readonly name: string;
  /** The subresource; empty for the object itself. */
  readonly sub: string;
}

function parsePath(path: string): Target | undefined {
  const match =
    /^(\/api\/v1|\/apis\/[^/]+\/[^/]+)(?:\/namespaces\/([^/]+))?\/([a-z]+)(?:\/([^/]+)(?:\/(status|eviction|proxy\/configz))?)?$/.exec(
      path,
    );
  if (!match) return undefined;
  const [, prefix = '', namespace = '', plural = '', name = '', sub = ''] = match;
  const collection = sub === 'proxy/configz' ? 'configz' : `${prefix}/${plural}`;
  return { collection, namespace, name, sub };
}

function selector(text: string | undefined, namespace: string, labels: string | undefined): (object: Json) => boolean {
  const read = (terms = '') =>
    terms.split(',').map((term) => /^([^=!]*)(!?)=?(.*)$/.exec(term)!.slice(1) as [string, string, string]);
  const [fields, wanted] = [read(text), read(labels)];
  return (object) =>
    (namespace === '' || metaOf(object)['namespace'] === namespace) &&
    fields.every(([field, not, want]) => {
      const value = field.split('.').reduce<unknown>((at, key) => (at as Json | undefined)?.[key], object);
      // A field that is not set is the empty text.
      return field === '' || ((value ?? '') === want) === (not === '');
    }) &&
    wanted.every(([label, , want]) => label === '' || (metaOf(object)['labels'] as Json | undefined)?.[label] === want);
}

function metaOf(object: Json): Json {
  return (object['metadata'] as Json | undefined) ?? {};
}

function keyOf(collection: string, object: Json): string {
  const { namespace = '', name } = metaOf(object) as { namespace?: string; name: string };
  return `${collection}|${namespace}|${name}`;
}

function statusOf(code: number, reason: string): Json {
  return { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message: `test says ${code} ${reason}` };
}

function reply(response: ServerResponse, status: number, body: Json): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

function send(response: ServerResponse, event: Json): void {
  response.write(`${JSON.stringify(event)}\n`);
}

async function readAll(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}
