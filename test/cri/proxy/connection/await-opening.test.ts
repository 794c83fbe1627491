import { awaitOpening } from '../../../../src/cri/proxy/connection/await-opening';
import { CLIENT_PREFACE } from '../../../../src/cri/proxy/http2/frame';
import { waitUntil } from '../../../support/wait-until';
import { useSockets } from '../../../wire/support/sockets';

const { openPair } = useSockets();
const opening = Buffer.concat([CLIENT_PREFACE, Buffer.from('000006040000000000000400010000', 'hex')]);

test('given preface and SETTINGS in pieces, then it resolves with true, and the socket still has all bytes', async () => {
  const [near, far] = await openPair();
  const begun = awaitOpening(near, 60_000);
  far.write(opening.subarray(0, 30));
  await waitUntil('the first piece has arrived', () => near.bytesRead === 30);
  far.write(opening.subarray(30));
  await expect(begun).resolves.toBe(true);
  expect(near.isPaused()).toBe(true);
  expect(near.read()).toEqual(opening);
});

test.each([
  ['another protocol', Buffer.from('GET / HTTP/1.1\r\n')],
  ['a first frame that is too long', Buffer.concat([CLIENT_PREFACE, Buffer.from('ffffff040000000000', 'hex')])],
])('given %s, then it resolves with true, so that the client gets an error', async (_name, bytes) => {
  const [near, far] = await openPair();
  far.write(bytes);
  await expect(awaitOpening(near, 60_000)).resolves.toBe(true);
});

test('given a client that closes, then it resolves with false', async () => {
  const [near, far] = await openPair();
  const begun = awaitOpening(near, 60_000);
  far.destroy();
  await expect(begun).resolves.toBe(false);
});

test('given no bytes until the timeout, then it resolves with false, and the socket is destroyed', async () => {
  const [near] = await openPair();
  await expect(awaitOpening(near, 10)).resolves.toBe(false);
  expect(near.destroyed).toBe(true);
});
