// Part of bench/annotator: what crane-scheduler-controller asks and writes for each node and metric, in the plainest
// form, one after the other. Arguments: address of the API server, its certificate, address of Prometheus, number of
// nodes, names of the metrics. Prints its CPU seconds and counts as a line of JSON.
import { readFileSync } from 'node:fs';
import { Agent as HttpAgent, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';

const [api = '', ca = '', prometheus = '', count = '0', ...metrics] = process.argv.slice(2);
const plain = new HttpAgent({ keepAlive: true });
const secure = new HttpsAgent({ keepAlive: true, ca: readFileSync(ca) });

interface Call {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
}

function send(url: string, { method, headers }: Call, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const isSecure = url.startsWith('https:');
    const begin = isSecure ? requestHttps : requestHttp;
    const length = { 'content-length': Buffer.byteLength(body) };
    const options = { method, headers: { ...headers, ...length }, agent: isSecure ? secure : plain };
    const request = begin(url, options, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () => resolve(text));
    });
    request.on('error', reject).end(body);
  });
}

async function ask(query: string): Promise<string | undefined> {
  const form = new URLSearchParams({ query, time: String(Date.now() / 1000) }).toString();
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const text = await send(`${prometheus}/api/v1/query`, { method: 'POST', headers }, form);
  const { data } = JSON.parse(text) as { data: { result: { value: [number, string] }[] } };
  return data.result.at(-1)?.value[1];
}

async function patch(node: string, name: string, value: string): Promise<void> {
  const body = JSON.stringify([
    { op: 'add', path: `/metadata/annotations/${name}`, value: `${value},${new Date().toISOString()}` },
  ]);
  const headers = { 'content-type': 'application/json-patch+json' };
  JSON.parse(await send(`${api}/api/v1/nodes/${node}`, { method: 'PATCH', headers }, body));
}

async function main(): Promise<void> {
  let [queries, patches] = [0, 0];
  for (let n = 0; n < Number(count); n++) {
    const address = `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`;
    for (const metric of metrics) {
      let value: string | undefined;
      for (const form of [address, `${address}:.+`, `node-${n}`]) {
        queries++;
        value = await ask(`${metric}{instance=~"${form}"} /100`);
        if (value !== undefined) break;
      }
      await patch(`node-${n}`, metric, value!);
      await patch(`node-${n}`, 'node_hot_value', '0');
      patches += 2;
    }
  }
  const { user, system } = process.cpuUsage();
  console.log(JSON.stringify({ cpuS: (user + system) / 1e6, queries, patches }));
  process.exit();
}

void main();
