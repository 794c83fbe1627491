// Part of bench/extender: the least extender in Node. It parses each request, lets all nodes pass and scores them 0.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Args {
  readonly NodeNames: readonly string[] | null;
  readonly Nodes: { readonly items: readonly { readonly metadata: { readonly name: string } }[] } | null;
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.once('end', () => {
    const { NodeNames, Nodes } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Args;
    const names = (): readonly string[] => NodeNames ?? Nodes?.items.map(({ metadata }) => metadata.name) ?? [];
    const answer =
      request.url === '/filter'
        ? { Nodes, NodeNames, FailedNodes: {}, FailedAndUnresolvableNodes: {}, Error: '' }
        : names().map((Host) => ({ Host, Score: 0 }));
    const text = JSON.stringify(answer);
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
    response.end(text);
  });
});
server.listen(0, '127.0.0.1', () => {
  console.log(JSON.stringify({ port: (server.address() as AddressInfo).port }));
});
process.stdin.on('data', () => undefined).once('end', () => process.exit());
