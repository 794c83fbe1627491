import { once } from 'node:events';
import { connect } from 'node:net';
import { answerJson, answerText, type HttpServer, startHttpServer } from '../../src/net/http-server';
import { waitUntil } from '../support/wait-until';

const problems: string[] = [];
const log = {
  warn: (_fields: object, message: string) => void problems.push(message),
  error: (_fields: object, message: string) => void problems.push(message),
};
let server: HttpServer;
beforeEach(async () => {
  problems.length = 0;
  server = await startHttpServer({
    address: { host: '127.0.0.1', port: 0 },
    maxConnections: 4,
    requestMs: 1_000,
    log,
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
    ],
  });
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
  expect(await ask('/other')).toEqual([404, 'not found; there are /hello, /echo, /json, /broken\n']);
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
