import { execFileSync } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Duplex } from 'node:stream';
import { ChannelSocket } from '../../../src/kube/api/channel-socket';
import { KubeClient } from '../../../src/kube/api/kube-client';
import { getByPodProxy, getByPortForward } from '../../../src/kube/api/pod-http';
import { FakeApiServer } from '../../support/kube/api-server';

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

test('a server that opens no WebSocket is told', async () => {
  const without = createServer((_request, response) => void response.writeHead(200).end('{}'));
  await new Promise<void>((resolve) => without.listen(0, '127.0.0.1', resolve));
  const { port } = without.address() as AddressInfo;
  const client = clientOf(server.kubeconfig.replaceAll(server.url, `http://127.0.0.1:${port}`));
  await expect(getByPortForward(client, request)).rejects.toThrow(/does not open a WebSocket there/);
  without.close();
  without.closeAllConnections();
});

test('over TLS the certificate is that of the API server, and not of the name in the Host header', async () => {
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
  await new Promise<void>((resolve) => tls.listen(0, '127.0.0.1', resolve));
  const config = JSON.parse(server.kubeconfig) as { clusters: { cluster: object }[] };
  const url = `https://127.0.0.1:${(tls.address() as AddressInfo).port}`;
  config.clusters[0]!.cluster = { server: url, 'certificate-authority': 'cert.pem' }; // beside the kubeconfig
  expect(await getByPodProxy(clientOf(JSON.stringify(config)), request)).toEqual({ ok: true });
  expect(names).toEqual(['localhost', false]);
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

describe('frames of a WebSocket', () => {
  /** The content of these bytes, given in two pieces; the error of the socket where it has one. */
  async function read(bytes: Buffer, splitAt: number): Promise<string> {
    const connection = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
    const socket = new ChannelSocket(connection, bytes.subarray(0, splitAt));
    const parts: Buffer[] = [];
    const done = new Promise<string>((resolve) => {
      socket.on('data', (part: Buffer) => parts.push(part));
      socket.once('end', () => resolve(Buffer.concat(parts).toString()));
      socket.once('error', ({ message }) => resolve(`error: ${message}`));
    });
    connection.push(bytes.subarray(splitAt));
    const text = await done;
    socket.destroy();
    return text;
  }
  const frame = (first: number, content: readonly number[]): number[] => [first, content.length, ...content];
  const port = [...frame(0x82, [0, 1, 2]), ...frame(0x82, [1, 1, 2])];
  const text = (...of: string[]): number[] => of.flatMap((each) => [...Buffer.from(each)]);

  test('data in fragments, with a ping between them, is read however it is cut', async () => {
    const bytes = Buffer.from([
      ...port,
      ...frame(0x82, [0, ...text('a')]),
      ...frame(0x02, [0, ...text('b')]),
      ...frame(0x89, text('ping')),
      ...frame(0x80, text('c')),
      ...frame(0x88, []),
    ]);
    for (let at = 0; at <= bytes.length; at++) expect(await read(bytes, at)).toBe('abc');
  });

  test('an error of the other end, and a frame that is too long', async () => {
    const told = Buffer.from([...port, ...frame(0x82, [1, ...text('no such port')])]);
    for (let at = 0; at <= told.length; at++) expect(await read(told, at)).toBe('error: no such port');
    const long = Buffer.from([0x82, 127, 0, 0, 1, 0, 0, 0, 0, 0]);
    expect(await read(long, 5)).toBe('error: a WebSocket frame is too long');
  });
});
