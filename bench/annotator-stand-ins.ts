// Part of bench/annotator: an API server over TLS that has Nodes, Events and a Lease, and a Prometheus, in a process of
// their own. Arguments: number of nodes, file of the certificate, file of its key, names of the metrics. It prints its
// two addresses as a line of JSON, and answers each line of its input with a line of counts.
import { readFileSync } from 'node:fs';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';

const [count = '0', certificate = '', key = '', ...metrics] = process.argv.slice(2);

interface StoredNode {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly annotations: Record<string, string>;
    resourceVersion: string;
  };
  readonly status: object;
}

let version = 1;
let [queries, patches, watchEvents] = [0, 0, 0];
let lease: { metadata: { name?: string; resourceVersion?: string } } | undefined;
const watchers = new Set<ServerResponse>();
const nodes = new Map(Array.from({ length: Number(count) }, (_, n) => [`node-${n}`, createNode(n)]));

/** A Node of about 9 kB, most of it images, as nodes of real clusters are. */
function createNode(n: number): StoredNode {
  const address = `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`;
  const images = Array.from({ length: 40 }, (_, image) => ({
    names: [
      `registry.example/team/image-${image}@sha256:${String(image).padStart(64, 'a')}`,
      `registry.example/i:${image}`,
    ],
    sizeBytes: 1e8 + image,
  }));
  const conditions = ['MemoryPressure', 'DiskPressure', 'PIDPressure', 'Ready'].map((type) => ({
    type,
    status: 'False',
    lastHeartbeatTime: '2026-01-01T00:00:00Z',
    lastTransitionTime: '2026-01-01T00:00:00Z',
    reason: 'KubeletHasSufficient',
    message: 'kubelet has sufficient resources available of this kind',
  }));
  return {
    metadata: { name: `node-${n}`, uid: `uid-${n}`, annotations: { owner: 'bench' }, resourceVersion: '1' },
    status: {
      addresses: [
        { type: 'InternalIP', address },
        { type: 'Hostname', address: `node-${n}` },
      ],
      conditions,
      images,
    },
  };
}

const readText = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
};
const reply = (response: ServerResponse, body: unknown, status = 200): void => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
};

async function serveApi(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'https://localhost');
  const text = await readText(request);
  if (pathname.includes('/leases')) return serveLease(request.method ?? '', text, response);
  if (request.method === 'PATCH') return patchNode(pathname.slice('/api/v1/nodes/'.length), request, text, response);
  const isNodes = pathname === '/api/v1/nodes';
  if (searchParams.get('watch') === 'true') {
    response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
    if (!isNodes) return;
    watchers.add(response);
    response.once('close', () => watchers.delete(response));
    return;
  }
  const all = isNodes ? [...nodes.values()] : [];
  const from = Number(searchParams.get('continue') ?? 0);
  const end = from + Number(searchParams.get('limit') ?? Infinity);
  const metadata = { resourceVersion: String(version), ...(end < all.length && { continue: String(end) }) };
  reply(response, { kind: 'List', metadata, items: all.slice(from, end) });
}

function patchNode(name: string, request: IncomingMessage, text: string, response: ServerResponse): void {
  const node = nodes.get(name);
  if (!node) return reply(response, { message: 'no such node' }, 404);
  const body = JSON.parse(text) as { metadata: { annotations: object } } | { path: string; value: string }[];
  if (Array.isArray(body))
    for (const { path, value } of body) node.metadata.annotations[path.slice('/metadata/annotations/'.length)] = value;
  else Object.assign(node.metadata.annotations, body.metadata.annotations);
  node.metadata.resourceVersion = String(++version);
  patches++;
  const isPartial = request.headers.accept?.includes('PartialObjectMetadata') === true;
  reply(response, isPartial ? { kind: 'PartialObjectMetadata', metadata: node.metadata } : node);
  const event = `${JSON.stringify({ type: 'MODIFIED', object: node })}\n`;
  for (const watcher of watchers) watcher.write(event);
  watchEvents += watchers.size;
}

function serveLease(method: string, text: string, response: ServerResponse): void {
  if (method === 'GET') return lease ? reply(response, lease) : reply(response, { message: 'none' }, 404);
  lease = JSON.parse(text) as NonNullable<typeof lease>;
  lease.metadata.resourceVersion = String(++version);
  reply(response, lease, method === 'POST' ? 201 : 200);
}

/** Series of all nodes, or of those that a selector of upstream's form matches: `m{instance=~"10.0.0.1:.+"} /100`. */
async function servePrometheus(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const fields = new URLSearchParams(await readText(request));
  const [, metric = '', pattern] = /^(\w+)(?:\{instance=~"(.*)"\})? \/100$/.exec(fields.get('query') ?? '') ?? [];
  queries++;
  const all = metrics.includes(metric) ? [...nodes.keys()] : [];
  const time = Number(fields.get('time'));
  const series = (n: number): object => ({
    metric: { instance: `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}:9100`, job: 'node-exporter' },
    value: [time, '0.31250'],
  });
  // A selector is answered from an index, as cheaply as can be.
  const [, a, b, c] = /^10\.(\d+)\.(\d+)\.(\d+):\.\+$/.exec(pattern ?? '') ?? [];
  const found =
    pattern === undefined
      ? all.map((_name, n) => series(n))
      : c === undefined
        ? []
        : [series((Number(a) << 16) + (Number(b) << 8) + Number(c))];
  reply(response, { status: 'success', data: { resultType: 'vector', result: found } });
}

const api = createServer(
  { cert: readFileSync(certificate), key: readFileSync(key) },
  (...each) => void serveApi(...each),
);
const prometheus = createHttpServer((...each) => void servePrometheus(...each));
api.keepAliveTimeout = 90_000;
let connections = 0;
api.on('secureConnection', () => connections++);
api.listen(0, '127.0.0.1', () =>
  prometheus.listen(0, '127.0.0.1', () => {
    const [apiPort, prometheusPort] = [api, prometheus].map((server) => (server.address() as AddressInfo).port);
    console.log(
      JSON.stringify({ api: `https://127.0.0.1:${apiPort}`, prometheus: `http://127.0.0.1:${prometheusPort}` }),
    );
  }),
);
const isWhole = ({ metadata }: StoredNode): boolean =>
  [...metrics, 'node_hot_value'].every((name) => metadata.annotations[name] !== undefined);
createInterface({ input: process.stdin })
  .on('line', () => {
    const written = [...nodes.values()].filter(isWhole).length;
    const { user, system } = process.cpuUsage();
    const cpuS = (user + system) / 1e6;
    console.log(JSON.stringify({ queries, patches, watchEvents, connections, written, cpuS }));
  })
  .on('close', () => process.exit());
