import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { answerJson, answerText, type HttpServer, startHttpServer } from '../../src/net/http-server';
import type { TlsPaths } from '../../src/net/tls-files';
import { waitUntil } from '../support/wait-until';

const problems: string[] = [];
const log = {
  warn: (_fields: object, message: string) => void problems.push(message),
  error: (_fields: object, message: string) => void problems.push(message),
};
const LARGE = Buffer.alloc(2 * 2 ** 20, 'x');
let handled: number;
let server: HttpServer;
const start = (tls?: TlsPaths): Promise<HttpServer> =>
  startHttpServer({
    address: { host: '127.0.0.1', port: 0 },
    maxConnections: 4,
    requestMs: 1_000,
    log,
    ...(tls && { tls }),
    routes: [
      { method: 'GET', path: '/hello', handle: ({ query }) => answerText(`hello ${query.get('name') ?? ''}`) },
      { method: 'POST', path: '/echo', maxBodyBytes: 1_000, handle: ({ body }) => answerJson({ bytes: body.length }) },
      {
        method: 'POST',
        path: '/json',
        maxBodyBytes: 10,
        bodyType: 'application/json',
        handle: () => answerJson('read'),
      },
      { method: 'POST', path: '/broken', maxBodyBytes: 10, handle: () => Promise.reject(new Error('a secret')) },
      {
        method: 'GET',
        path: '/large',
        handle: () => {
          handled += 1;
          return { status: 200, contentType: 'text/plain', body: LARGE, etag: '"large"' };
        },
      },
      {
        method: 'GET',
        path: '/held',
        handle: ({ signal }) =>
          new Promise((resolve) =>
            signal.addEventListener('abort', () => {
              problems.push('given up');
              resolve(answerText(''));
            }),
          ),
      },
      {
        method: 'GET',
        path: '/later',
        handle: () => new Promise((resolve) => setImmediate(() => resolve(answerText('not now', 503)))),
      },
    ],
  });
beforeEach(async () => {
  problems.length = 0;
  handled = 0;
  server = await start();
});
afterEach(() => server.close());

const ask = async (path: string, init?: RequestInit): Promise<[number, string]> => {
  const response = await fetch(`http://127.0.0.1:${server.port}${path}`, init);
  return [response.status, await response.text()];
};

test('given a route: its answer, with the query', async () => {
  expect(await ask('/hello?name=world')).toEqual([200, 'hello world\n']);
});

test('given a body up to the bound: it arrives as a whole; given a longer one: 413', async () => {
  expect(await ask('/echo', { method: 'POST', body: 'x'.repeat(1_000) })).toEqual([200, '{"bytes":1000}']);
  expect(await ask('/echo', { method: 'POST', body: 'x'.repeat(1_001) })).toEqual([
    413,
    'the body is longer than 1000 bytes\n',
  ]);
});

test('given a body without end, in chunks: the connection is closed after the bound', async () => {
  const socket = connect(server.port, '127.0.0.1').on('error', () => undefined);
  let answer = '';
  socket.setEncoding('utf8').on('data', (text: string) => (answer += text));
  socket.write('POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
  const feed = setInterval(() => socket.write(`3e8\r\n${'x'.repeat(1_000)}\r\n`), 1);
  await once(socket, 'close');
  clearInterval(feed);
  expect(answer).toMatch(/^HTTP\/1.1 413 /);
});

test('given another path, and another method: 404 with the paths, 405 with the methods', async () => {
  expect(await ask('/other')).toEqual([
    404,
    'not found; there are /hello, /echo, /json, /broken, /large, /held, /later\n',
  ]);
  expect((await ask('/echo'))[0]).toBe(405);
});

test.each`
  type                                  | status
  ${'application/json'}                 | ${200}
  ${'APPLICATION/json ; charset=utf-8'} | ${200}
  ${'text/plain'}                       | ${415}
  ${'text/plain; x=application/json'}   | ${415}
  ${'application/json-patch+json'}      | ${415}
  ${''}                                 | ${415}
`('given a route that takes JSON and the type "$type": $status', async ({ type, status }) => {
  const headers = { 'content-type': type as string };
  expect((await ask('/json', { method: 'POST', body: '{}', headers }))[0]).toBe(status);
});

test('given a route that fails: 500 without its reason, which the log has', async () => {
  expect(await ask('/broken', { method: 'POST', body: 'x' })).toEqual([500, '']);
  expect(problems).toEqual(['a request could not be answered']);
});

test('given a client that sends its request too slowly: it is answered with 408, and others are served', async () => {
  const socket = connect(server.port, '127.0.0.1').on('error', () => undefined);
  let answer = '';
  socket.setEncoding('utf8').on('data', (text: string) => (answer += text));
  socket.write('POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc');
  expect((await ask('/hello'))[0]).toBe(200);
  await once(socket, 'close');
  expect(answer).toMatch(/^HTTP\/1.1 408 /);
});

test('given more connections than are allowed: the oldest is closed', async () => {
  const sockets = Array.from({ length: 5 }, () => connect(server.port, '127.0.0.1').on('error', () => undefined));
  await waitUntil('the first to be closed', () => sockets[0]!.destroyed);
  expect(sockets.slice(1).map(({ destroyed }) => destroyed)).toEqual([false, false, false, false]);
  for (const socket of sockets) socket.destroy();
});

const closeOf = (socket: Socket): Promise<void> => new Promise((resolve) => socket.once('close', () => resolve()));
const requestFor = (path: string, more = ''): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n${more}\r\n`;

test.each`
  requests                            | written
  ${'requests'}                       | ${requestFor('/large')}
  ${'requests that expect something'} | ${requestFor('/large', 'Expect: more\r\n')}
  ${'requests without a host'}        | ${'GET /large HTTP/1.1\r\n\r\n'}
  ${'requests that are refused'}      | ${requestFor('/nowhere')}
`(
  'given a client that sends many $requests and waits for no answer: its connection is closed, and others are served',
  async ({ written }) => {
    const socket = connect(server.port, '127.0.0.1').on('error', () => undefined);
    socket.write((written as string).repeat(1_900));
    let text = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
    await closeOf(socket);
    expect(handled).toBeLessThanOrEqual(1);
    expect(text.split('HTTP/1.1 ').length - 1).toBeLessThanOrEqual(1);
    expect((await ask('/hello'))[0]).toBe(200);
  },
);

test('given a second request before the first is answered: it is answered after it', async () => {
  const socket = connect(server.port, '127.0.0.1').on('error', () => undefined);
  let answer = '';
  socket.setEncoding('latin1').on('data', (text: string) => (answer += text));
  socket.write(requestFor('/later') + requestFor('/hello?name=b', 'Connection: close\r\n'));
  await closeOf(socket);
  expect(answer).toMatch(/^HTTP\/1.1 503 .*not now\nHTTP\/1.1 200 .*hello b\n$/s);
});

test('given a second request behind one whose answer ends the connection, or whose client goes: it is not handled', async () => {
  const refused = connect(server.port, '127.0.0.1').on('error', () => undefined);
  refused.resume().write(requestFor('/nowhere') + requestFor('/large'));
  await closeOf(refused);
  const gone = connect(server.port, '127.0.0.1').on('error', () => undefined);
  gone.write(requestFor('/held') + requestFor('/large'), () => gone.destroy());
  await waitUntil('the first to be given up', () => problems.length > 0);
  expect((await ask('/later'))[0]).toBe(503);
  expect([handled, problems]).toEqual([0, ['given up']]);
});

/** One request; resolves when all of its answer has been read. */
function exchange(socket: Socket, request: string): Promise<number> {
  return new Promise((resolve, reject) => {
    let [head, left] = ['', Infinity];
    const take = (chunk: Buffer): void => {
      const before = head.length;
      if (left === Infinity) {
        head += chunk.toString('latin1');
        const end = head.indexOf('\r\n\r\n');
        if (end === -1) return;
        const hasBody = !request.startsWith('HEAD') && !head.startsWith('HTTP/1.1 304');
        left = (hasBody ? Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0) : 0) + end + 4 - before;
      }
      left -= chunk.length;
      if (left > 0) return;
      socket.off('data', take).off('close', reject);
      resolve(Number(head.slice(9, 12)));
    };
    socket.on('data', take).once('close', reject).write(request);
  });
}

test.each(['TCP', 'TLS'])(
  'given a client of %s that sends its next request as soon as it has read the answer: all are answered on one connection',
  async (transport) => {
    const file = (name: string): string => join(__dirname, '../fixtures/tls', name);
    const over =
      transport === 'TLS' ? await start({ certificate: file('server.crt'), key: file('server.key') }) : server;
    const socket =
      transport === 'TLS'
        ? connectTls({ host: '127.0.0.1', port: over.port, ca: readFileSync(file('ca.crt')) })
        : connect(over.port, '127.0.0.1');
    const requests = [
      requestFor('/hello'),
      requestFor('/large').replace('GET', 'HEAD'),
      requestFor('/later'),
      requestFor('/large', 'If-None-Match: "large"\r\n'),
      'POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc',
    ];
    for (let round = 0; round < 200; round++) {
      for (const request of requests)
        expect(await exchange(socket, request)).toBe(
          request.includes('/later') ? 503 : request.includes('None') ? 304 : 200,
        );
      if (round % 10 === 0) expect(await exchange(socket, requestFor('/large'))).toBe(200);
    }
    socket.destroy();
    if (over !== server) await over.close();
  },
);
