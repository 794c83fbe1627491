import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PageServerOptions } from '../../../src/admin/page/page-server';
import { findRecords, type JournalRecord } from '../../../src/state/journal';
import { encodeHeader, encodeRecord } from '../../../src/state/journal/record';
import { waitUntil } from '../../support/wait-until';
import { SampleBackend } from '../sample-status';
import { ask, type PageRig, startPage } from './page-rig';

const EVIL = `"><script>alert(1)</script>`;
const dayOf = (day: number): string => `2026-11-${day}T10:00:00.000Z`;

let dir: string;
let page: PageRig | undefined;
beforeEach(() => (dir = mkdtempSync(join(tmpdir(), 'history-'))));
afterEach(async () => {
  await page?.close();
  page = undefined;
  rmSync(dir, { recursive: true });
});

/** A page of a journal on disk with 300 records of the pod `default/many`, and some of others. */
async function serve(options: Partial<PageServerOptions> = {}): Promise<PageRig> {
  const pinned = (day: number, facts: object): string => encodeRecord({ at: dayOf(day), kind: 'pinned', ...facts });
  const segments = [
    pinned(20, { pod: 'default/db', podUid: 'uid-db', cpus: '16-17' }) +
      encodeRecord({ at: dayOf(21), kind: 'drifted', pod: 'default/db', promised: '16-17', found: '0-3' }) +
      encodeRecord({ at: dayOf(21), kind: 'input', pod: 'default/db', of: 'event' }),
    Array.from({ length: 300 }, (_, i) => pinned(22, { pod: 'default/many', container: `c-${i}`, cpus: '4' })).join(''),
    pinned(23, { pod: `default/${EVIL}`, cpus: '8', because: `\u202e${EVIL}` }),
  ];
  for (const [index, text] of segments.entries())
    writeFileSync(
      join(dir, `0000000${index + 1}.jsonl`),
      encodeHeader({ writtenBy: '1', at: dayOf(20), preambleBytes: 0 }) + text,
    );
  page = await startPage(new SampleBackend(), {
    journal: { latest: () => Promise.resolve([]), find: (filter, limits) => findRecords(dir, filter, limits) },
    ...options,
  });
  return page;
}

const rowsOf = (body: string): readonly string[] => body.match(/<tr id="h-/g) ?? [];
const foundOf = (body: string): string =>
  /id="history-found">([^<]*)/.exec(body)?.[1]?.replace(/\s+/g, ' ').trim() ?? 'nothing is said';
const recordsOf = async (query: string) =>
  JSON.parse((await ask(page!, `/api/v1/history?${query}`)).body) as {
    records: JournalRecord[];
    more: boolean;
    isCutShort: boolean;
  };

test.each`
  query                                  | days
  ${'pod=default/db'}                    | ${[20, 21]}
  ${'pod=db'}                            | ${[20, 21]}
  ${'pod=uid-db'}                        | ${[20]}
  ${'pod=other/db'}                      | ${[]}
  ${'cpu=17'}                            | ${[20, 21]}
  ${'cpu=2-3,8'}                         | ${[21, 23]}
  ${'cpu=17&until=2026-11-20T14:03:00Z'} | ${[20]}
  ${'pod=default/db&since=2026-11-21'}   | ${[21]}
  ${'since=2026-11-22T10:00:01Z'}        | ${[23]}
  ${'until=2026-11-20T12:00:00%2B01:00'} | ${[20]}
  ${'pod=&cpu=16&since=&until='}         | ${[20, 21]}
  ${'cpu=16&unknown=x'}                  | ${[20, 21]}
`('$query: the records of the days $days, as data and on the page', async ({ query, days }) => {
  await serve();
  const { records, more, isCutShort } = await recordsOf(query as string);
  expect([records.map(({ at }) => Number(at.slice(8, 10))), more, isCutShort]).toEqual([days, false, false]);
  const { status, body, headers } = await ask(page!, `/history?${query as string}`);
  expect([status, headers['content-type'], rowsOf(body).length]).toEqual([
    200,
    'text/html; charset=utf-8',
    (days as number[]).length,
  ]);
  expect(foundOf(body)).toMatch((days as number[]).length === 0 ? /^No such records\.$/ : /^\d records?, the latest/);
});

test('given more records than are shown: the latest 200, the latest first, and it is said', async () => {
  await serve();
  const { records, more } = await recordsOf('pod=many');
  expect([records.length, records[0]!.container, records.at(-1)!.container, more]).toEqual([
    200,
    'c-100',
    'c-299',
    true,
  ]);
  const { body } = await ask(page!, '/history?pod=many');
  expect(rowsOf(body)).toHaveLength(200);
  expect(body.indexOf('c-299')).toBeLessThan(body.indexOf('c-298'));
  expect(foundOf(body)).toMatch(/^The latest 200 records, the latest first\. There are older ones/);
  expect(rowsOf((await ask(page!, '/history')).body)).toHaveLength(200);
});

test('given a search that ended at its limits: it is said that older files were not read', async () => {
  await serve({
    journal: {
      latest: () => Promise.resolve([]),
      find: (filter, limits) => findRecords(dir, filter, { ...limits, maxBytes: 1_000 }),
    },
  });
  expect(await recordsOf('cpu=8')).toMatchObject({ more: false, isCutShort: true });
  expect(foundOf((await ask(page!, '/history?cpu=17')).body)).toMatch(/^No such records\. .* older files were not/);
});

test.each`
  query                                  | rule
  ${'cpu=x'}                             | ${'cpu: "x" can\'t be read; write a number, or a list like 2-3,8'}
  ${'cpu=-1'}                            | ${'write a number, or a list like 2-3,8'}
  ${'cpu=3-2'}                           | ${'write a number, or a list like 2-3,8'}
  ${'cpu=0-99999999'}                    | ${'write a number, or a list like 2-3,8'}
  ${`cpu=${'0-65535,'.repeat(500)}0`}    | ${'write a number, or a list like 2-3,8'}
  ${'pod=a/b/c'}                         | ${'write namespace/name, the name alone, or its uid'}
  ${'pod=/'}                             | ${'write namespace/name'}
  ${`pod=${'x'.repeat(6_000)}`}          | ${`"${'x'.repeat(57)}..." can't be read; write namespace/name`}
  ${'since=yesterday'}                   | ${'write a duration like 10m or 24h, a time like 2026-11-24T10:00:00Z, or 14:03 (UTC)'}
  ${'until=2026-13-01'}                  | ${'write a duration'}
  ${'since=10'}                          | ${'write a duration'}
  ${'since=2026-11-22&until=2026-11-21'} | ${'is earlier than "since"; exchange them'}
  ${`since=%00%22%3Cb%3E`}               | ${'write a duration'}
`('$query: 400 with the rule, and no search', async ({ query, rule }) => {
  let searches = 0;
  const none = { records: [], more: false, isCutShort: false };
  await serve({
    journal: { latest: () => Promise.resolve([]), find: () => ((searches += 1), Promise.resolve(none)) },
  });
  const data = await ask(page!, `/api/v1/history?${query as string}`);
  expect([data.status, (JSON.parse(data.body) as { error: string }).error]).toEqual([
    400,
    expect.stringContaining(rule as string),
  ]);
  const { status, body } = await ask(page!, `/history?${query as string}`);
  expect([status, rowsOf(body).length, body.includes('<b>"')]).toEqual([400, 0, false]);
  expect(body.replaceAll('&quot;', '"').replaceAll('&#39;', "'")).toContain(
    (rule as string).replace(/^cpu: /, 'CPUs: '),
  );
  expect(body).toContain('aria-invalid="true"');
  expect(body.length).toBeLessThan(8_000);
  expect(searches).toBe(0);
});

test('names and reasons of tenants, and what is typed, stay texts', async () => {
  await serve();
  for (const query of [`cpu=8`, `pod=${encodeURIComponent(EVIL)}`, `since=${encodeURIComponent(EVIL)}`]) {
    const { body, headers } = await ask(page!, `/history?${query}`);
    expect(body).not.toContain('<script');
    expect(body).toContain('&lt;script&gt;');
    expect(body).not.toContain('\u202e');
    expect(body).not.toMatch(/ (style|on\w+)="/);
    expect(String(headers['content-security-policy'])).toContain("default-src 'none'");
  }
});

test('a query that is longer than any server takes is answered with 431, and the next one is served', async () => {
  await serve();
  expect((await ask(page!, `/history?pod=${'x'.repeat(20_000)}`)).status).toBe(431);
  expect((await ask(page!, '/history?cpu=17')).status).toBe(200);
});

test('given no journal on disk, or one that is no directory: 503 without a path, and the log has the reason', async () => {
  await serve();
  rmSync(dir, { recursive: true });
  for (const make of [() => undefined, () => writeFileSync(dir, '')]) {
    make();
    for (const path of ['/history?cpu=17', '/api/v1/history?cpu=17']) {
      const { status, body } = await ask(page!, path);
      expect([status, body.includes(dir)]).toEqual([503, false]);
      expect(body.replaceAll('&#39;', "'")).toContain("the journal can't be read; the log of cpusetd has the reason");
      expect(page!.problems.splice(0)).toHaveLength(1);
    }
  }
  rmSync(dir);
  mkdirSync(dir);
});

test('given a journal that is off: it is said, on the page and with 404; its data are empty, and a search of them is 404 too', async () => {
  await serve({ journal: undefined as never });
  const { body } = await ask(page!, '/');
  expect(body).toContain('The journal is off (--journal-size off).');
  expect(body).not.toContain('action="/history"');
  expect(await ask(page!, '/history')).toMatchObject({
    status: 404,
    body: expect.stringContaining('The journal is off') as string,
  });
  expect(await ask(page!, '/api/v1/history')).toMatchObject({ status: 200, body: '{"records":[]}\n' });
  expect(await ask(page!, '/api/v1/history?cpu=17')).toMatchObject({
    status: 404,
    body: '{"error":"The journal is off (--journal-size off)."}',
  });
});

test('given more searches than may wait: 503 until one has ended; a client that is gone ends its search', async () => {
  const running: { end: () => void; signal: AbortSignal }[] = [];
  await serve({
    journal: {
      latest: () => Promise.resolve([]),
      find: (_filter, { signal }) =>
        new Promise((resolve) => {
          running.push({ end: () => resolve({ records: [], more: false, isCutShort: false }), signal });
        }),
    },
  });
  const gone = new AbortController();
  const first = fetch(`${page!.url}/history?cpu=1`, { signal: gone.signal }).catch(() => 'gone');
  await waitUntil('the first search', () => running.length === 1);
  const statuses: number[] = [];
  const others = Array.from({ length: 5 }, async () => {
    statuses.push((await ask(page!, '/api/v1/history?cpu=1')).status);
  });
  await waitUntil('two to be turned away', () => statuses.length === 2);
  expect(statuses).toEqual([503, 503]);
  gone.abort();
  expect(await first).toBe('gone');
  await waitUntil('the search to be told', () => running[0]!.signal.aborted);
  for (let i = 0; i < 4; i++) {
    await waitUntil('the next search', () => running.length === i + 1);
    running[i]!.end();
  }
  await Promise.all(others);
  expect(statuses).toEqual([503, 503, 200, 200, 200]);
});

test('HEAD has no body, and other methods are refused', async () => {
  await serve();
  expect(await ask(page!, '/history?cpu=17', { method: 'HEAD' })).toMatchObject({ status: 200, body: '' });
  expect(await ask(page!, '/history?cpu=x', { method: 'HEAD' })).toMatchObject({ status: 400, body: '' });
  for (const method of ['POST', 'PUT', 'DELETE'])
    expect(await ask(page!, '/history', { method })).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } });
});
