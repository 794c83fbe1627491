import type { Socket } from 'node:net';

import { Request, Response } from '../gen/ttrpc';
import { StatusCode, TtrpcClient } from '../../src/wire';
import { message } from './support/bytes';
import { readBytes, useSockets } from './support/sockets';

const { openPair, openChannel } = useSockets();

/** A client, and a peer whose answers the test chooses. */
async function connect(): Promise<{ readonly client: TtrpcClient; readonly peer: Socket }> {
  const [near, far] = await openPair();
  return { client: new TtrpcClient(openChannel(near), { maxMessageBytes: 1000 }), peer: far };
}

const nothing = Buffer.alloc(0);
const success = (payload: string): Uint8Array =>
  Response.encode({ status: undefined, payload: Buffer.from(payload) }).finish();
const failure = (code: number, text: string): Uint8Array =>
  Response.encode({ status: { code, message: text, details: [] }, payload: nothing }).finish();

test('requests have increasing odd ids, and the arguments of the caller', async () => {
  const { client, peer } = await connect();
  const calls = [1, 3].map((id) =>
    client.call('a.Service', `M${id}`, Buffer.from('in'), { timeoutMs: 5000, metadata: [{ key: 'k', value: 'v' }] }),
  );
  const bytes = await readBytes(peer, 80);
  let at = 0;
  for (const id of [1, 3]) {
    const end = at + 10 + bytes.readUInt32BE(at);
    expect(bytes.subarray(at + 4, at + 10).toString('hex')).toBe(`0000000${id}0100`);
    expect(Request.decode(bytes.subarray(at + 10, end))).toMatchObject({
      service: 'a.Service',
      method: `M${id}`,
      timeoutNano: 5_000_000_000n,
      metadata: [{ key: 'k', value: 'v' }],
    });
    at = end;
  }
  expect(at).toBe(bytes.length);
  peer.write(Buffer.concat([message(3, 2, success('three')), message(1, 2, success('one'))]));
  expect((await Promise.all(calls)).map((payload) => Buffer.from(payload).toString())).toEqual(['one', 'three']);
});

test.each`
  name                                                        | answer                                                                                                                                 | outcome
  ${'a success'}                                              | ${message(1, 2, success('yes'))}                                                                                                       | ${'yes'}
  ${'a success of length 0'}                                  | ${message(1, 2, nothing)}                                                                                                              | ${''}
  ${'a success with an empty field'}                          | ${message(1, 2, Buffer.from('1200', 'hex'))}                                                                                           | ${''}
  ${'a status of code 0'}                                     | ${message(1, 2, failure(0, 'fine'))}                                                                                                   | ${''}
  ${'a status'}                                               | ${message(1, 2, failure(9, 'no CPUs left'))}                                                                                           | ${{ code: 9, message: 'no CPUs left' }}
  ${'an unknown status'}                                      | ${message(1, 2, failure(-7, ''))}                                                                                                      | ${{ code: -7, message: '' }}
  ${'data that are no response'}                              | ${message(1, 2, Buffer.from('12ff', 'hex'))}                                                                                           | ${{ code: StatusCode.INTERNAL, message: 'the response is no ttrpc.Response' }}
  ${'more data than are accepted'}                            | ${message(1, 2, Buffer.alloc(1001))}                                                                                                   | ${{ code: StatusCode.RESOURCE_EXHAUSTED }}
  ${'more data announced than there are'}                     | ${message(1, 2, nothing, 0xffffffff)}                                                                                                  | ${{ code: StatusCode.RESOURCE_EXHAUSTED }}
  ${'an answer for a stream that is unknown, first'}          | ${Buffer.concat([message(3, 2, success('no')), message(2, 2, Buffer.from('ff', 'hex')), message(1, 2, success('yes'))])}               | ${'yes'}
  ${'a message of another type, first'}                       | ${Buffer.concat([message(1, 1, success('no')), message(1, 3, success('no')), message(1, 77, nothing), message(1, 2, success('yes'))])} | ${'yes'}
  ${'a message above the limit for an unknown stream, first'} | ${Buffer.concat([message(9, 2, Buffer.alloc(5000)), message(1, 2, success('yes'))])}                                                   | ${'yes'}
  ${'two answers, of which the first counts'}                 | ${Buffer.concat([message(1, 2, success('yes')), message(1, 2, failure(2, 'no'))])}                                                     | ${'yes'}
`('$name', async ({ answer, outcome }: { answer: Buffer; outcome: unknown }) => {
  const { client, peer } = await connect();
  const call = client.call('s', 'm', nothing);
  await readBytes(peer, 10);
  peer.write(answer);
  if (typeof outcome === 'string') expect(Buffer.from(await call).toString()).toBe(outcome);
  else await expect(call).rejects.toMatchObject({ name: 'TtrpcError', ...(outcome as object) });
});

test('when the peer closes, all calls are rejected', async () => {
  const { client, peer } = await connect();
  const calls = Array.from({ length: 10 }, () => client.call('s', 'm', nothing).catch((error: unknown) => error));
  await readBytes(peer, 10);
  peer.end(message(1, 2, nothing).subarray(0, 5));
  for (const error of await Promise.all(calls)) {
    expect(error).toMatchObject({ code: StatusCode.UNAVAILABLE, message: expect.stringContaining('the peer closed') });
  }
});

test('late answers to cancelled calls are ignored, and the next call works', async () => {
  const { client, peer } = await connect();
  const stop = new AbortController();
  const outcomes = [
    client.call('s', 'm', nothing, { timeoutMs: 1 }),
    client.call('s', 'm', nothing, { signal: stop.signal, timeoutMs: 60_000 }),
  ].map((call) => call.catch((error: unknown) => error));
  stop.abort(new Error('enough'));
  const [late, cancelled] = await Promise.all(outcomes);
  expect(late).toMatchObject({ code: StatusCode.DEADLINE_EXCEEDED, message: 'no answer within 1 ms' });
  expect(cancelled).toMatchObject({ code: StatusCode.CANCELLED });
  const next = client.call('s', 'm', nothing);
  peer.write(Buffer.concat([message(1, 2, success('late')), message(3, 2, success('late')), message(5, 2, nothing)]));
  expect(await next).toHaveLength(0);
});
