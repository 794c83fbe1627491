import { connect } from 'node:net';
import { CpusetdError } from '../../../src/core/errors';
import { describeMachine } from '../../../src/admin/machine/describe-machine';
import { viewStatus } from '../../../src/admin/machine/machine-view';
import { waitUntil } from '../../support/wait-until';
import { SampleBackend, sampleStatus, sampleTopology } from '../sample-status';
import { ask, type PageRig, startPage } from './page-rig';

let page: PageRig;
beforeEach(async () => {
  page = await startPage(new SampleBackend(), { hosts: ['node-1.example.org'] });
});
afterEach(() => page.close());

const asData = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
const dataOf = async (path: string): Promise<unknown> => JSON.parse((await ask(page, path)).body);

test('status and topology are the data that the commands print', async () => {
  expect(await dataOf('/api/v1/status')).toEqual(asData(sampleStatus));
  expect(await dataOf('/api/v1/topology')).toEqual(asData(describeMachine(viewStatus(sampleTopology))));
});

test('the history has the last records of the journal', async () => {
  page.records = [{ at: '2026-11-24T10:00:00.000Z', kind: 'pinned', pod: 'default/web', cpus: '2-3' }];
  expect(await dataOf('/api/v1/history')).toEqual({ records: page.records });
});

test('a number of CPUs is asked of the daemon; what is no number is told so with 400', async () => {
  expect(await dataOf('/api/v1/fit?cpus=2')).toMatchObject({ fits: true, cpus: '6-7', because: 'there is room' });
  expect(page.backend.asked).toEqual([{ kind: 'cpus', count: 2 }]);
  for (const text of ['0', '-1', '1.5', 'x', '', '65536', '1e3'])
    expect(await ask(page, `/api/v1/fit?cpus=${text}`)).toMatchObject({
      status: 400,
      body: expect.stringContaining('write a whole number') as string,
    });
  expect(page.backend.asked).toHaveLength(1);
});

test('a pod is explained as the command line explains it; without a name it is 400, and 404 when nobody knows it', async () => {
  const explain = page.backend.explain.bind(page.backend);
  const asked: unknown[] = [];
  page.backend.explain = (query) => {
    asked.push(query);
    if (query.kind === 'pod' && query.pod === 'gone') throw new CpusetdError('NOT_FOUND', 'no running pod gone');
    return { kind: 'containers', containers: [], idle: [], refused: [], others: [] };
  };
  try {
    expect(await dataOf('/api/v1/explain?pod=default/web')).toEqual({
      containers: [],
      idle: [],
      refused: [],
      others: [],
    });
    expect(asked).toEqual([{ kind: 'pod', namespace: 'default', pod: 'web', container: '' }]);
    expect(await ask(page, '/api/v1/explain?pod=default/gone')).toMatchObject({ status: 404 });
    for (const text of ['', '/', 'a/b/c', 'a/', '/b'])
      expect(await ask(page, `/api/v1/explain?pod=${text}`)).toMatchObject({
        status: 400,
        body: expect.stringContaining('name a pod') as string,
      });
    expect(asked).toHaveLength(2);
  } finally {
    page.backend.explain = explain;
  }
});

test('the box works without the script: the page itself has the answer', async () => {
  const { body } = await ask(page, '/?cpus=2');
  expect(body).toContain('2 CPUs would fit: 6-7');
  expect(body).toContain('value="2"');
  expect((await ask(page, '/?cpus=%3Cscript%3E')).body).toContain('&quot;&lt;script&gt;&quot; is no number of CPUs');
});

test('a fault inside is 500 without its text', async () => {
  const { status, body } = await ask(page, '/api/v1/fit?cpus=13');
  expect([status, body.includes('secret')]).toEqual([500, false]);
  expect(page.problems).toHaveLength(1);
});

test.each(['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])(
  '%s changes nothing: 405 with what is allowed',
  async (method) => {
    for (const path of ['/', '/api/v1/status', '/api/v1/fit'])
      expect(await ask(page, path, { method })).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } });
  },
);

test('HEAD has the headers of GET and no body, for a stream too', async () => {
  const { headers, body } = await ask(page, '/', { method: 'HEAD' });
  expect([headers['content-type'], Number(headers['content-length']) > 1_000, body]).toEqual([
    'text/html; charset=utf-8',
    true,
    '',
  ]);
  expect(await ask(page, '/api/v1/stream', { method: 'HEAD' })).toMatchObject({ status: 200, body: '' });
});

test.each(['/', '/api/v1/status', '/nowhere', '/icon.svg'])(
  '%s has the headers that keep others out, and none for other origins',
  async (path) => {
    const { headers } = await ask(page, path, { headers: { origin: 'http://attacker.test' } });
    const policy = String(headers['content-security-policy']);
    expect(policy.split('; ')).toEqual(
      expect.arrayContaining(["default-src 'none'", "script-src 'self'", "base-uri 'none'", "frame-ancestors 'none'"]),
    );
    expect(policy).not.toContain('unsafe');
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'x-frame-options': 'DENY',
    });
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  },
);

test.each`
  host                         | status
  ${'127.0.0.1:1'}             | ${200}
  ${'localhost:8080'}          | ${200}
  ${'node-1.example.org'}      | ${200}
  ${'attacker.example'}        | ${421}
  ${'127.0.0.1.attacker.test'} | ${421}
  ${'10.0.0.1'}                | ${421}
`('given the Host $host: $status, on every path', async ({ host, status }) => {
  for (const path of ['/', '/api/v1/status', '/api/v1/stream?version=x'])
    expect((await ask(page, path, { method: 'HEAD', headers: { host: host as string } })).status).toBe(status);
});

test('a page that is known already is not sent again', async () => {
  const { headers } = await ask(page, '/');
  const again = await ask(page, '/', { headers: { 'if-none-match': String(headers['etag']) } });
  expect(again).toMatchObject({ status: 304, body: '' });
  page.backend.current = { ...sampleStatus, containers: [] };
  expect((await ask(page, '/', { headers: { 'if-none-match': String(headers['etag']) } })).status).toBe(200);
});

test('script and style are of this server, named by their content, and kept for ever', async () => {
  const { body } = await ask(page, '/');
  const paths = [...body.matchAll(/(?:src|href)="(\/page-[\w-]+\.(?:js|css))"/g)].map(([, path]) => path!);
  expect(paths).toHaveLength(2);
  for (const path of paths)
    expect((await ask(page, path)).headers['cache-control']).toBe('public, max-age=31536000, immutable');
  expect(body.match(/https?:\/\//g)).toBeNull();
  expect(body).not.toMatch(/ (style|on\w+)="/);
});

test('given more browsers than may follow: 503, and those before are served', async () => {
  const sockets = Array.from({ length: 32 }, () => {
    const socket = connect(page.port, '127.0.0.1');
    socket.write('GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\n\r\n');
    return { socket, text: '' };
  });
  for (const each of sockets) each.socket.setEncoding('utf8').on('data', (text: string) => (each.text += text));
  await waitUntil('all to have the content', () => sockets.every(({ text }) => text.includes('event: content')));
  expect(await ask(page, '/api/v1/stream')).toMatchObject({ status: 503, headers: { 'retry-after': '10' } });
  expect(page.backend.watchers).toBe(1);
  for (const { socket } of sockets) socket.destroy();
  await waitUntil('the watch to end', () => page.backend.watchers === 0);
});

test('given a client that asks for many streams on one connection and goes, and many HEADs: no place stays taken', async () => {
  const socket = connect(page.port, '127.0.0.1').on('error', () => undefined);
  const isClosed = new Promise((resolve) => socket.once('close', resolve));
  socket.resume().write('GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(400));
  await Promise.race([isClosed, waitUntil('a stream', () => page.backend.watchers > 0)]);
  socket.destroy();
  await isClosed;
  await waitUntil('the watch to end', () => page.backend.watchers === 0);
  for (let i = 0; i < 40; i++) expect((await ask(page, '/api/v1/stream', { method: 'HEAD' })).status).toBe(200);
  expect((await fetch(`${page.url}/api/v1/stream`)).status).toBe(200);
});

test('given a backend that has no answer for now: the reason, as the commands tell it', async () => {
  page.backend.explain = () => {
    throw new CpusetdError('FAILED_PRECONDITION', 'no policy gives out CPUs');
  };
  expect(await ask(page, '/api/v1/fit?cpus=2')).toMatchObject({
    status: 400,
    body: '{"error":"no policy gives out CPUs"}',
  });
});
