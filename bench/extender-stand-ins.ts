// Part of bench/extender: an API server in a process of its own, with Nodes, their NodeResourceTopologies, and ten
// bound pods with a topology result on each node. Arguments: number of nodes, metrics. It prints its address as a line
// of JSON. While its clients watch, it sends changes as a cluster of 5,000 nodes has them: a hundred Nodes and twenty
// topologies a second.
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createNode, nameOf, type BenchNode } from './extender-node';

const [count = '0', ...metrics] = process.argv.slice(2);
const nodeCount = Number(count);
const PODS_OF_NODE = 10;
const TICK_MS = 50;
const NODES_OF_TICK = 5;
const TOPOLOGIES_OF_TICK = 1;

let version = 1;

interface Collection {
  readonly size: number;
  readonly create: (n: number) => object;
  readonly watchers: Set<ServerResponse>;
}

const collections: Readonly<Record<string, Collection>> = {
  '/api/v1/nodes': { size: nodeCount, create: (n): BenchNode => createNode(n, metrics, version), watchers: new Set() },
  '/api/v1/pods': { size: nodeCount * PODS_OF_NODE, create: createPod, watchers: new Set() },
  '/apis/topology.crane.io/v1alpha1/noderesourcetopologies': {
    size: nodeCount,
    create: createTopology,
    watchers: new Set(),
  },
};

/** Two zones of 32 CPUs; each tenth node has its pods anywhere. */
function createTopology(n: number): object {
  return {
    apiVersion: 'topology.crane.io/v1alpha1',
    kind: 'NodeResourceTopology',
    metadata: { name: nameOf(n), uid: `topology-${n}`, resourceVersion: String(version) },
    craneManagerPolicy: {
      cpuManagerPolicy: 'Static',
      topologyManagerPolicy: n % 10 === 0 ? 'None' : 'SingleNUMANodePodLevel',
    },
    zones: [0, 1].map((id) => ({
      name: `node${id}`,
      type: 'Node',
      resources: { capacity: { cpu: '32', memory: '128Gi' }, allocatable: { cpu: '32', memory: '126Gi' } },
    })),
  };
}

function createPod(n: number): object {
  const cpus = 1 + (n % 4);
  const amounts = { cpu: String(cpus), memory: '2Gi' };
  const result = [{ name: `node${n % 2}`, type: 'Node', resources: { capacity: { cpu: String(cpus) } } }];
  return {
    metadata: {
      name: `pod-${n}`,
      namespace: 'default',
      uid: `pod-${n}`,
      resourceVersion: '1',
      annotations: { 'topology.crane.io/topology-result': JSON.stringify(result) },
    },
    spec: {
      nodeName: nameOf(Math.floor(n / PODS_OF_NODE)),
      containers: [{ name: 'main', image: 'registry.example/i:1', resources: { requests: amounts, limits: amounts } }],
    },
    status: { phase: 'Running' },
  };
}

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
  const collection = collections[pathname];
  if (!collection) return void response.writeHead(404).end('{}');
  response.writeHead(200, { 'content-type': 'application/json' });
  if (searchParams.get('watch') === 'true') {
    response.flushHeaders();
    collection.watchers.add(response);
    response.once('close', () => collection.watchers.delete(response));
    return;
  }
  const from = Number(searchParams.get('continue') ?? 0);
  const end = Math.min(collection.size, from + Number(searchParams.get('limit') ?? Infinity));
  const items = Array.from({ length: end - from }, (_, i) => collection.create(from + i));
  const metadata = { resourceVersion: String(version), ...(end < collection.size && { continue: String(end) }) };
  response.end(JSON.stringify({ kind: 'List', metadata, items }));
});

function change(path: string, times: number): void {
  const { size, create, watchers } = collections[path]!;
  if (watchers.size === 0) return;
  for (let i = 0; i < times; i++) {
    version++;
    const event = `${JSON.stringify({ type: 'MODIFIED', object: create((version * 7) % size) })}\n`;
    for (const watcher of watchers) watcher.write(event);
  }
}

setInterval(() => {
  change('/api/v1/nodes', NODES_OF_TICK);
  change('/apis/topology.crane.io/v1alpha1/noderesourcetopologies', TOPOLOGIES_OF_TICK);
}, TICK_MS);
server.listen(0, '127.0.0.1', () => {
  console.log(JSON.stringify({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }));
});
process.stdin.on('data', () => undefined).once('end', () => process.exit());
