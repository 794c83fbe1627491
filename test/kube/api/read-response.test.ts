import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { readBody, readEvents, readFailure, readItems } from '../../../src/kube/api/read-response';

/** A response with this body, in these pieces. */
function responseOf(pieces: readonly string[], more: Partial<IncomingMessage> = {}): IncomingMessage {
  const body = Readable.from(pieces.map((piece) => Buffer.from(piece)));
  return Object.assign(body, { headers: {}, ...more }) as unknown as IncomingMessage;
}

test('a body in pieces is parsed as JSON, and anything else is an error', async () => {
  await expect(readBody(responseOf(['{"a":', '1}']))).resolves.toEqual({ a: 1 });
  await expect(readBody(responseOf(['<html>']))).rejects.toMatchObject({ status: 0 });
});

test('the items of a list are passed on one by one, and the rest is returned', async () => {
  const items: unknown[] = [];
  const rest = await readItems(responseOf(['{"items":[{"a":1},', '{"a":2}],"kind":"List"}']), (item) =>
    items.push(item),
  );
  expect(items).toEqual([{ a: 1 }, { a: 2 }]);
  expect(rest).toEqual({ items: [], kind: 'List' });
});

/** As the API server stores it: Go parses and writes at most 10,000 levels. */
const deep = `{"name":"deep","managed":${'{"f:a":'.repeat(9_990)}{}${'}'.repeat(9_990)}}`;
const endless = `{"name":"endless","managed":[${'0,'.repeat(4_000_000)}0]}`;
const nameOf = (object: unknown): unknown => (object as { name: unknown }).name;

test('an object as deep as the API server has them is read; one with more values than are read is left out alone', async () => {
  const texts = ['{"name":"a"}', endless, deep, '{"name":"b"}'];
  const [items, events, unread]: unknown[][] = [[], [], []];
  const list = responseOf([`{"items":[${texts.join(',')}]}`]);
  await readItems(
    list,
    (item) => items!.push(nameOf(item)),
    (because) => unread!.push(because),
  );
  const lines = texts.map((object) => `{"type":"ADDED","object":${object}}\n`);
  await readEvents(
    responseOf(lines),
    (_type, object) => events!.push(nameOf(object)),
    (because) => unread!.push(because),
  );
  expect({ items, events }).toEqual({ items: ['a', 'deep', 'b'], events: ['a', 'deep', 'b'] });
  const because = 'the API server answered with JSON that has more values than are read';
  expect(unread).toEqual([because, because]);
  await expect(readItems(responseOf([`{"items":[${endless}]}`]), () => undefined)).rejects.toThrow(because);
});

test('events are lines of JSON; other lines are left out', async () => {
  const events: unknown[] = [];
  const lines = ['{"type":"ADDED","obj', 'ect":1}\nno JSON\n{"type":"DELETED","object":2}\n{"type":"cut'];
  await readEvents(responseOf(lines), (type, object) => events.push([type, object]));
  expect(events).toEqual([
    ['ADDED', 1],
    ['DELETED', 2],
  ]);
});

test('an event of type ERROR is thrown with its status', async () => {
  const line = '{"type":"ERROR","object":{"code":410,"message":"too old"}}\n';
  await expect(readEvents(responseOf([line]), () => undefined)).rejects.toMatchObject({ status: 410 });
});

test.each`
  details                                                                      | want
  ${undefined}                                                                 | ${[]}
  ${{ causes: 'none' }}                                                        | ${[]}
  ${{ causes: [{ reason: 'DisruptionBudget', message: 'a', field: 'x' }, 7] }} | ${[{ reason: 'DisruptionBudget', message: 'a' }, { reason: '', message: '' }]}
  ${{ causes: [{ message: 'x'.repeat(501) }] }}                                | ${[{ reason: '', message: 'x'.repeat(500) }]}
`('given the details $details, an error has the causes $want', async ({ details, want }: Record<string, unknown>) => {
  const failure = await readFailure(responseOf([JSON.stringify({ details })], { statusCode: 429 }));
  expect(failure.causes).toEqual(want);
});

test('given a hundred causes, an error has the first ten', async () => {
  const causes = Array.from({ length: 100 }, (_, i) => ({ reason: `r${i}`, message: '' }));
  const failure = await readFailure(responseOf([JSON.stringify({ details: { causes } })], { statusCode: 422 }));
  expect(failure.causes).toEqual(causes.slice(0, 10));
});

test.each([
  ['the message, the reason and Retry-After', '{"message":"slow down","reason":"TooManyRequests"}', '7', { reason: 'TooManyRequests', retryAfterMs: 7000 }],
  ['no date of Retry-After', '{}', 'Wed, 21 Oct 2015 07:28:00 GMT', { reason: '', retryAfterMs: undefined }],
  ['no text that is not JSON', '<html>secret</html>', undefined, { message: expect.not.stringContaining('secret') }],
])('an error has the status and %s', async (_name, text, retryAfter, error) => {
  const headers = retryAfter === undefined ? {} : { 'retry-after': retryAfter };
  const failure = await readFailure(responseOf([text], { statusCode: 429, headers }));
  expect(failure).toMatchObject({ status: 429, ...error });
}); // prettier-ignore
