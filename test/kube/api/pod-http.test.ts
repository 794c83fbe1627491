import { execFileSync } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KubeClient } from '../../../src/kube/api/kube-client';
import { getByPodProxy, getByPortForward } from '../../../src/kube/api/pod-http';
import { FakeApiServer } from '../../support/kube/api-server';
import { answerUpgrade, servePortForward } from '../../support/kube/port-forward';

let dir: string;
let end: AbortController;
let server: FakeApiServer;
let target: Server;
let seen: (string | undefined)[];
const LONG = 'x'.repeat(200_000);

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'pod-http-'));
  end = new AbortController();
  seen = [];
  const rights = ['/pods/proxy get', '/pods/portforward get', '/pods/portforward create'];
  server = new FakeApiServer({ rights: new Set(rights) });
  await server.start();
  target = createServer(({ url, headers }, response) => {
    seen.push(`${headers.host} ${url}`);
    if (url?.startsWith('/silent')) return;
    response.writeHead(url?.startsWith('/missing') ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ url, LONG }));
  });
  await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
  server.podPorts.set('cpusetd/a', (target.address() as AddressInfo).port);
});
afterEach(async () => {
  end.abort();
  target.close();
  target.closeAllConnections();
  await server.stop();
  rmSync(dir, { recursive: true });
});

function clientOf(config = server.kubeconfig): KubeClient {
  writeFileSync(join(dir, 'config'), config);
  return new KubeClient({ kind: 'files', paths: [join(dir, 'config')] }, end.signal);
}

const request = { namespace: 'cpusetd', pod: 'a', port: 14_710, path: '/x', query: { a: '1 2' } };

test.each([
  ['pod proxy', getByPodProxy],
  ['forwarded port', getByPortForward],
])('by a %s: a long answer arrives whole, and the server is addressed as localhost', async (_name, get) => {
  expect(await get(clientOf(), request)).toEqual({ url: '/x?a=1+2', LONG });
  expect(seen).toEqual(['localhost /x?a=1+2']);
});

test.each([
  ['pod proxy', getByPodProxy],
  ['forwarded port', getByPortForward],
])('by a %s: a status, a port where nobody listens and a server that does not answer are told', async (_name, get) => {
  await expect(get(clientOf(), { ...request, path: '/missing' })).rejects.toMatchObject({ status: 404 });
  await expect(get(clientOf(), { ...request, path: '/silent', timeoutMs: 200 })).rejects.toThrow(/in time/);
  server.podPorts.set('cpusetd/a', 1);
  await expect(get(clientOf(), request)).rejects.toThrow(/connection refused|503/);
});

test('a server that opens no WebSocket, or does not answer, is told', async () => {
  const without = createServer((_request, response) => void response.writeHead(200).end('{}'));
  await new Promise<void>((resolve) => without.listen(0, '127.0.0.1', resolve));
  const { port } = without.address() as AddressInfo;
  const client = clientOf(server.kubeconfig.replaceAll(server.url, `http://127.0.0.1:${port}`));
  await expect(getByPortForward(client, request)).rejects.toThrow(/does not open a WebSocket there/);
  without.on('upgrade', () => undefined); // no answer
  await expect(getByPortForward(client, { ...request, timeoutMs: 200 })).rejects.toThrow(/did not answer in time/);
  without.close();
  without.closeAllConnections();
});

test('refused credentials are read again, once', async () => {
  let asked = 0;
  const strict = createServer().on('upgrade', ({ headers }, socket) => {
    if (++asked === 1) socket.end('HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n');
    else servePortForward(socket, headers['sec-websocket-key']!, (target.address() as AddressInfo).port, request.port);
  });
  await new Promise<void>((resolve) => strict.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(strict.address() as AddressInfo).port}`;
  const client = clientOf(server.kubeconfig.replaceAll(server.url, url));
  await client.config();
  expect(await getByPortForward(client, request)).toEqual({ url: '/x?a=1+2', LONG });
  expect(asked).toBe(2);
  strict.close();
});

test('over TLS the certificate is that of the API server, and not of the name in the Host header; a proxy is used', async () => {
  const [key, cert] = [join(dir, 'key.pem'), join(dir, 'cert.pem')];
  const subject = ['-subj', '/CN=api', '-addext', 'subjectAltName=IP:127.0.0.1'];
  execFileSync(
    'openssl',
    [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-days',
      '1',
      ...subject,
    ].concat(['-keyout', key, '-out', cert]),
    { stdio: 'ignore' },
  );
  const names: unknown[] = [];
  const options = { key: readFileSync(key), cert: readFileSync(cert) };
  const tls = createTlsServer(options, ({ headers, socket }, response) => {
    names.push(headers.host, (socket as unknown as { servername: unknown }).servername);
    response.end('{"ok":true}');
  });
  tls.on('upgrade', ({ headers }, socket) => {
    names.push(headers.authorization);
    servePortForward(socket, headers['sec-websocket-key']!, (target.address() as AddressInfo).port, request.port);
  });
  await new Promise<void>((resolve) => tls.listen(0, '127.0.0.1', resolve));
  const config = JSON.parse(server.kubeconfig) as { clusters: { cluster: object }[] };
  const url = `https://127.0.0.1:${(tls.address() as AddressInfo).port}`;
  config.clusters[0]!.cluster = { server: url, 'certificate-authority': 'cert.pem' }; // beside the kubeconfig
  expect(await getByPodProxy(clientOf(JSON.stringify(config)), request)).toEqual({ ok: true });
  expect(names.splice(0)).toEqual(['localhost', false]);
  expect(await getByPortForward(clientOf(JSON.stringify(config)), request)).toEqual({ url: '/x?a=1+2', LONG });
  expect(names.splice(0)).toEqual(['Bearer test']);

  const proxy = createServer().on('connect', ({ url: to }, socket: Socket) => {
    names.push(to);
    const [host, number] = to!.split(':');
    const through = connect(Number(number), host, () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      socket.pipe(through).pipe(socket);
    });
    for (const end of [socket, through]) end.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const proxyUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  config.clusters[0]!.cluster = { ...config.clusters[0]!.cluster, 'proxy-url': proxyUrl };
  expect(await getByPortForward(clientOf(JSON.stringify(config)), request)).toEqual({ url: '/x?a=1+2', LONG });
  expect(names).toEqual([url.slice('https://'.length), 'Bearer test']);
  proxy.close();

  config.clusters[0]!.cluster = { server: url };
  await expect(getByPortForward(clientOf(JSON.stringify(config)), request)).rejects.toThrow(/SELF_SIGNED_CERT/);
  tls.close();
  tls.closeAllConnections();
});

describe('several kubeconfigs', () => {
  const configOf = (name: string, url: string, current?: string) => ({
    clusters: [{ name, cluster: { server: url } }],
    users: [{ name, user: { token: name } }],
    contexts: [{ name, context: { cluster: name, user: name, namespace: `ns-${name}` } }],
    ...(current !== undefined && { 'current-context': current }),
  });
  const load = async (paths: readonly string[], context?: string) => {
    const source = { kind: 'files' as const, paths: paths.map((path) => join(dir, path)) };
    const client = new KubeClient({ ...source, ...(context !== undefined && { context }) }, end.signal);
    const config = await client.config();
    return [config.getCurrentCluster()?.server, config.getContextObject(config.getCurrentContext())?.namespace];
  };
  beforeEach(() => {
    writeFileSync(join(dir, 'a'), JSON.stringify(configOf('one', 'http://one')));
    writeFileSync(join(dir, 'b'), JSON.stringify({ ...configOf('two', 'http://two', 'two') }));
    const again = configOf('one', 'http://other', 'one');
    writeFileSync(join(dir, 'c'), JSON.stringify(again));
  });

  test('the first current context counts, and the first entry of a name; missing files are left out', async () => {
    expect(await load(['gone', 'a', 'b', 'c'])).toEqual(['http://two', 'ns-two']);
    expect(await load(['a', 'b', 'c'], 'one')).toEqual(['http://one', 'ns-one']);
    expect(await load(['c', 'a'])).toEqual(['http://other', 'ns-one']);
  });

  test('when none exists, or the context does not, it is told', async () => {
    await expect(load(['gone'])).rejects.toThrow(/there is no kubeconfig: .*gone; name one with --kubeconfig/);
    await expect(load(['a'], 'nobody')).rejects.toThrow(/names no API server for its current context/);
    writeFileSync(join(dir, 'a'), ': :');
    await expect(load(['a', 'b'])).rejects.toThrow(/is not a kubeconfig/);
  });
});

describe('a server whose first frames come with its answer', () => {
  const frame = (first: number, content: readonly number[]): number[] => [first, content.length, ...content];
  const port = [...frame(0x82, [0, 1, 2]), ...frame(0x82, [1, 1, 2])];
  const text = (content: string): number[] => [...Buffer.from(content)];

  /** Asks over a forwarded port of a server that sends these bytes. */
  async function ask(...bytes: readonly number[]): Promise<unknown> {
    const raw = createServer();
    raw.on('upgrade', ({ headers }, socket) => {
      answerUpgrade(socket, headers['sec-websocket-key']!, Buffer.from([...port, ...bytes]));
      socket.on('error', () => undefined);
    });
    await new Promise<void>((resolve) => raw.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(raw.address() as AddressInfo).port}`;
    try {
      return await getByPortForward(clientOf(server.kubeconfig.replaceAll(server.url, url)), request);
    } finally {
      raw.close();
    }
  }

  test('data in fragments, with a ping between them, arrives whole', async () => {
    const begin = frame(0x02, [0, ...text('HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n{"a"')]);
    expect(await ask(...begin, ...frame(0x89, text('ping')), ...frame(0x80, text(':1}')))).toEqual({ a: 1 });
  });

  test('an error of the other end, the end, and a message of more than 16 MiB are told', async () => {
    await expect(ask(...frame(0x82, [1, ...text('no such port')]))).rejects.toThrow(/can't be reached: no such port$/);
    await expect(ask(...frame(0x88, []))).rejects.toThrow(/can't be reached: socket hang up$/);
    await expect(ask(0x82, 127, 0, 0, 0, 0, 1, 0, 0, 1)).rejects.toThrow(
      /can't be reached: Max payload size exceeded$/,
    );
  });
});
