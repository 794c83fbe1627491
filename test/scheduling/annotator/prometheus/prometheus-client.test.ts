import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PrometheusClient } from '../../../../src/scheduling/annotator/prometheus/prometheus-client';
import { FakePrometheus, type PrometheusTrouble } from '../../../support/fake-prometheus';

let server: FakePrometheus;
let end: AbortController;
const folder = mkdtempSync(join(tmpdir(), 'prometheus-'));
beforeEach(async () => {
  server = new FakePrometheus();
  server.series.set('m', [{ instance: 'a', value: 25 }]);
  await server.start();
  end = new AbortController();
});
afterEach(async () => {
  end.abort();
  await server.stop();
});
afterAll(() => rmSync(folder, { recursive: true }));

const clientOf = (more: Partial<ConstructorParameters<typeof PrometheusClient>[0]> = {}): PrometheusClient =>
  new PrometheusClient({ address: server.address, userAgent: 'test', signal: end.signal, ...more });
const TIME = 1_700_000_000_123;

test('a query goes by POST with a form, and the answer has the series with their time', async () => {
  const result = await clientOf().query('m /100', TIME);
  expect(result).toEqual({ ok: true, series: [{ instance: 'a', job: '', timeMs: TIME, value: '0.25' }] });
  expect(server.queries).toEqual([
    {
      method: 'POST',
      path: '/api/v1/query',
      query: 'm /100',
      time: '1700000000.123',
      authorization: undefined,
      contentType: 'application/x-www-form-urlencoded',
    },
  ]);
});

test.each(['', '/'])(
  'given an address with a path and %p after it: the path precedes that of the API',
  async (slash) => {
    await clientOf({ address: `${server.address}/prom${slash}` }).query('m /100', TIME);
    expect(server.queries[0]!.path).toBe('/prom/api/v1/query');
  },
);

test.each([405, 501])(
  'given a server that refuses POST with %i: the query goes by GET, and so do later ones',
  async (status) => {
    server.trouble = ({ method }) => (method === 'POST' ? { status } : undefined);
    const client = clientOf();
    expect(await client.query('m /100', TIME)).toMatchObject({ ok: true });
    expect(await client.query('m /100', TIME)).toMatchObject({ ok: true });
    expect(server.queries.map(({ method }) => method)).toEqual(['POST', 'GET', 'GET']);
    expect(server.queries[2]).toMatchObject({ query: 'm /100', time: '1700000000.123' });
  },
);

test('given a token file: the token is sent, and the new one after it was renewed', async () => {
  const path = join(folder, 'token');
  const client = clientOf({ bearerTokenFile: path });
  writeFileSync(path, 'one\n');
  await client.query('m /100', TIME);
  writeFileSync(path, 'two\n');
  await client.query('m /100', TIME);
  expect(server.queries.map(({ authorization }) => authorization)).toEqual(['Bearer one', 'Bearer two']);
});

test('given a token file that is missing: nothing is asked, and the reason names the file', async () => {
  const path = join(folder, 'none');
  expect(await clientOf({ bearerTokenFile: path }).query('m /100', TIME)).toEqual({
    ok: false,
    because: `was not asked: ${path} can't be read: no such file (ENOENT)`,
  });
  expect(server.queries).toEqual([]);
});

test.each<[string, PrometheusTrouble, string]>([
  ['warnings', { with: { warnings: ['partial response'] } }, 'warned: partial response'],
  [
    'a matrix',
    { with: { data: { resultType: 'matrix', result: [] } } },
    'answered with a matrix and not with a vector',
  ],
  ['no data', { text: '{"status":"success"}' }, 'answered with a result and not with a vector'],
  ['503 with a page', { status: 503, text: '<html>secret</html>' }, 'answered with status 503'],
  [
    'an error of the API',
    { status: 422, text: '{"status":"error","errorType":"execution","error":"query timed out"}' },
    'answered with status 422: query timed out',
  ],
  ['an error with status 200', { text: '{"status":"error","error":"x"}' }, 'could not answer: x'],
  ['garbage', { text: 'hello' }, 'answered with something that is no result'],
  ['an array', { text: '[]' }, 'answered with something that is no result'],
  ['lists in lists', { text: '['.repeat(4_000_000) }, 'answered with JSON that has more values than are read'],
  ['very many values', { text: `[0${',0'.repeat(900_000)}]` }, 'answered with JSON that has more values than are read'],
  ['a redirect', { status: 302, headers: { location: 'http://127.0.0.1:1/' } }, 'answered with status 302'],
  ['no answer', { hang: true }, 'did not answer within 0.2 s'],
  ['an answer that is too late', { delayMs: 1_000 }, 'did not answer within 0.2 s'],
])('given %s: the query fails, and the reason says so', async (_name, trouble, because) => {
  server.trouble = () => trouble;
  // An answer came: no limit decides.
  const timeoutMs = because.startsWith('did not answer') ? 200 : 60_000;
  expect(await clientOf({ timeoutMs }).query('m /100', TIME)).toEqual({ ok: false, because });
});

test('given infos: they are no failure', async () => {
  server.trouble = () => ({ with: { infos: ['metric might not be a counter'] } });
  expect(await clientOf().query('m /100', TIME)).toMatchObject({ ok: true });
});

test('given an answer of 100 MB: it is refused at the bound', async () => {
  server.trouble = () => ({ isEndless: true });
  const before = process.memoryUsage().rss;
  expect(await clientOf().query('m /100', TIME)).toEqual({
    ok: false,
    because: 'answered with more than 8388608 bytes',
  });
  expect(server.endlessBytes).toBeLessThan(64 << 20);
  expect(process.memoryUsage().rss - before).toBeLessThan(200 << 20);
});

test('given no server: the reason is the code of the system, without the address', async () => {
  await server.stop();
  expect(await clientOf().query('m /100', TIME)).toEqual({ ok: false, because: "can't be reached (ECONNREFUSED)" });
});

test('given a server that goes away in the middle: the query fails', async () => {
  server.trouble = () => ({ isEndless: true });
  const query = clientOf({ maxBytes: Infinity }).query('m /100', TIME);
  setTimeout(() => void server.stop(), 20);
  expect(await query).toMatchObject({ ok: false });
});

test('the end of the annotator ends a query', async () => {
  server.trouble = () => ({ hang: true });
  const query = clientOf().query('m /100', TIME);
  setTimeout(() => end.abort(), 20);
  expect(await query).toEqual({ ok: false, because: 'was not waited for: the annotator ends' });
});
