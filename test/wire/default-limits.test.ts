import { Request, Response } from '../gen/ttrpc';
import { StatusCode, TtrpcClient, TtrpcServer } from '../../src/wire';
import { frame, message } from './support/bytes';
import { readBytes, useSockets } from './support/sockets';

// The limits where the caller sets none. They are in docs/write-an-nri-plugin.md.

const { openPair, openChannel, openMux } = useSockets();

const NOTHING = Buffer.alloc(0);
const MIB = 1 << 20;
/** More than current peers send, and less than runtimes before containerd 2.0 send. */
const LONG = Buffer.alloc(5 * MIB, 'x');

test.each`
  announced       | by         | because
  ${16 * MIB}     | ${'peer'}  | ${'in the middle of a frame'}
  ${16 * MIB + 1} | ${'fault'} | ${'the limit is 16777216'}
`('given a frame of $announced bytes, then the connection ends by $by', async ({ announced, by, because }) => {
  const [near, far] = await openPair();
  const mux = openMux(near);
  mux.open(1);
  far.end(frame(1, NOTHING, announced as number));
  await expect(mux.closed).resolves.toMatchObject({ by, because: expect.stringContaining(because as string) });
});

test('given a request of 5 MiB, then the server accepts it, and refuses one of more than 64 MiB at its header', async () => {
  const [near, far] = await openPair();
  new TtrpcServer(openChannel(near), { test: { size: ({ payload }) => Buffer.from(String(payload.length)) } });
  const request = Request.encode(Request.create({ service: 'test', method: 'size', payload: LONG })).finish();
  far.write(Buffer.concat([message(1, 1, request), message(3, 1, NOTHING, 64 * MIB + 1)]));
  const status = {
    code: StatusCode.RESOURCE_EXHAUSTED,
    message: 'a request of 67108865 bytes is not accepted',
    details: [],
  };
  const expected = Buffer.concat([
    message(1, 2, Response.encode({ status: undefined, payload: Buffer.from('5242880') }).finish()),
    message(3, 2, Response.encode({ status, payload: NOTHING }).finish()),
  ]);
  expect(await readBytes(far, expected.length)).toEqual(expected);
});

test('given a response of 5 MiB, then the client accepts it, and refuses one of more than 64 MiB at its header', async () => {
  const [near, far] = await openPair();
  const client = new TtrpcClient(openChannel(near));
  const [accepted, refused] = ['a', 'b'].map((method) => client.call('test', method, NOTHING));
  const response = Response.encode({ status: undefined, payload: LONG }).finish();
  far.write(Buffer.concat([message(1, 2, response), message(3, 2, NOTHING, 64 * MIB + 1)]));
  expect(await accepted).toHaveLength(LONG.length);
  await expect(refused).rejects.toMatchObject({ code: StatusCode.RESOURCE_EXHAUSTED });
});
