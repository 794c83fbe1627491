import type { Socket } from 'node:net';

import { Request, Response } from '../gen/ttrpc';
import { TtrpcServer, type TtrpcHandler } from '../../src/wire';
import { message } from './support/bytes';
import { readBytes, useSockets } from './support/sockets';
import { waitUntil } from '../support/wait-until';

const { openPair, openChannel } = useSockets();

const request = (fields: Partial<Request> = {}): Uint8Array =>
  Request.encode(Request.create({ service: 'test', method: 'echo', ...fields })).finish();

/** A server, and a peer that writes bytes that the test chooses. */
async function serve(handlers: Record<string, TtrpcHandler> = {}): Promise<Socket> {
  const [near, far] = await openPair();
  const echo: TtrpcHandler = ({ payload }) => payload;
  new TtrpcServer(openChannel(near), { test: { echo, ...handlers } }, { maxMessageBytes: 10_000 });
  return far;
}

/** Reads `count` answers as lines: stream id, status code, payload. */
async function readAnswers(peer: Socket, count: number): Promise<string[]> {
  const answers: string[] = [];
  let received = Buffer.alloc(0);
  while (answers.length < count) {
    received = Buffer.concat([received, await readBytes(peer, 1)]);
    while (received.length >= 10 && received.length >= 10 + received.readUInt32BE(0)) {
      const end = 10 + received.readUInt32BE(0);
      const { status, payload } = Response.decode(received.subarray(10, end));
      expect([received[8], received[9]]).toEqual([2, 0]);
      answers.push(`${received.readUInt32BE(4)} ${status?.code ?? 0} ${Buffer.from(payload).toString()}`.trim());
      received = received.subarray(end);
    }
  }
  return answers;
}

const ping = (streamId: number): Buffer => message(streamId, 1, request({ payload: Buffer.from('ping') }));

test.each`
  name                                               | sent                                                                                | answers
  ${'a call'}                                        | ${[ping(1)]}                                                                        | ${['1 0 ping']}
  ${'ids with gaps'}                                 | ${[ping(1), ping(101), ping(4294967295)]}                                           | ${['1 0 ping', '101 0 ping', '4294967295 0 ping']}
  ${'an even id'}                                    | ${[ping(2), ping(1)]}                                                               | ${['2 3', '1 0 ping']}
  ${'the id 0'}                                      | ${[ping(0), ping(1)]}                                                               | ${['0 3', '1 0 ping']}
  ${'a reused id'}                                   | ${[ping(5), ping(5), ping(7)]}                                                      | ${['5 0 ping', '5 3', '7 0 ping']}
  ${'a lower id'}                                    | ${[ping(5), ping(3), ping(7)]}                                                      | ${['5 0 ping', '3 3', '7 0 ping']}
  ${'a request that is no protobuf'}                 | ${[message(1, 1, Buffer.from('\xff\xff', 'latin1')), ping(3)]}                      | ${['1 3', '3 0 ping']}
  ${'a request without any data'}                    | ${[message(1, 1, Buffer.alloc(0)), ping(3)]}                                        | ${['1 12', '3 0 ping']}
  ${'a request above the limit'}                     | ${[message(1, 1, Buffer.alloc(10_001)), ping(3)]}                                   | ${['1 8', '3 0 ping']}
  ${'an id that only a request above the limit had'} | ${[message(3, 1, Buffer.alloc(10_001)), ping(3)]}                                   | ${['3 8', '3 3']}
  ${'a response without a call'}                     | ${[message(1, 2, Buffer.alloc(5)), ping(1)]}                                        | ${['1 0 ping']}
  ${'data of a stream, which does not exist'}        | ${[message(1, 3, Buffer.alloc(5)), ping(1)]}                                        | ${['1 0 ping']}
  ${'a message of an unknown type'}                  | ${[message(1, 255, Buffer.alloc(5)), message(2, 0, Buffer.alloc(0)), ping(1)]}      | ${['1 0 ping']}
  ${'one of an unknown type above the limit'}        | ${[message(1, 9, Buffer.alloc(20_000)), ping(1)]}                                   | ${['1 0 ping']}
  ${'a deadline that is over'}                       | ${[message(1, 1, request({ timeoutNano: -5n })), ping(3)]}                          | ${['1 4', '3 0 ping']}
  ${'the earliest possible deadline'}                | ${[message(1, 1, request({ timeoutNano: -(2n ** 63n) }))]}                          | ${['1 4']}
  ${'the latest possible deadline'}                  | ${[message(1, 1, request({ timeoutNano: 2n ** 63n - 1n, method: 'late' }))]}        | ${['1 0 late']}
  ${'a deadline that comes before the answer'}       | ${[message(1, 1, request({ timeoutNano: 20_000_000n, method: 'never' })), ping(3)]} | ${['3 0 ping', '1 4']}
`(
  'given $name, then the server sends these answers',
  async ({ sent, answers }: { sent: Buffer[]; answers: string[] }) => {
    const peer = await serve({
      late: () => Promise.resolve(Buffer.from('late')),
      never: () => new Promise(() => undefined),
    });
    peer.write(Buffer.concat(sent));
    expect(await readAnswers(peer, answers.length)).toEqual(answers);
  },
);

test('a success with an empty payload has no data at all', async () => {
  const peer = await serve();
  peer.write(message(1, 1, request()));
  expect((await readBytes(peer, 10)).toString('hex')).toBe('00000000000000010200');
});

test('the answer of a synchronous handler is sent in the same turn', async () => {
  const order: string[] = [];
  const peer = await serve({
    now: () => {
      void Promise.resolve().then(() => order.push('a turn later'));
      order.push('handled');
      return Buffer.alloc(1);
    },
  });
  peer.write(Buffer.concat([message(1, 1, request({ method: 'now' })), message(3, 1, request({ method: 'now' }))]));
  await waitUntil(() => order.length === 4);
  expect(order).toEqual(['handled', 'handled', 'a turn later', 'a turn later']);
});

test('a call whose deadline has passed is not answered twice', async () => {
  let finish: (payload: Uint8Array) => void = () => undefined;
  const peer = await serve({ late: () => new Promise((resolve) => (finish = resolve)) });
  peer.write(message(1, 1, request({ method: 'late', timeoutNano: 10_000_000n })));
  expect(await readAnswers(peer, 1)).toEqual(['1 4']);
  finish(Buffer.from('too late'));
  peer.write(ping(3));
  expect(await readAnswers(peer, 1)).toEqual(['3 0 ping']);
});
