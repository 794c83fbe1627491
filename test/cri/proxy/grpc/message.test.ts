import { deflateSync, gzipSync } from 'node:zlib';
import { formatMessagePrefix, inflateMessage } from '../../../../src/cri/proxy/grpc/message';

const plain = Buffer.from('x'.repeat(100));
const inflate = (bytes: Buffer, encoding: string | undefined, maxBytes = 100) =>
  inflateMessage({ isCompressed: true, bytes }, encoding, maxBytes)?.toString();

test('a message that is not compressed is returned as it is, whatever the encoding', () => {
  expect(inflateMessage({ isCompressed: false, bytes: plain }, 'gzip', 1)).toBe(plain);
});

test.each`
  name                                       | bytes                              | encoding     | want
  ${'gzip'}                                  | ${gzipSync(plain)}                 | ${'gzip'}    | ${plain.toString()}
  ${'deflate'}                               | ${deflateSync(plain)}              | ${'deflate'} | ${plain.toString()}
  ${'an unknown encoding gives nothing'}     | ${gzipSync(plain)}                 | ${'snappy'}  | ${undefined}
  ${'no encoding gives nothing'}             | ${gzipSync(plain)}                 | ${undefined} | ${undefined}
  ${'broken data give nothing'}              | ${gzipSync(plain).subarray(0, 20)} | ${'gzip'}    | ${undefined}
  ${'data of another encoding give nothing'} | ${deflateSync(plain)}              | ${'gzip'}    | ${undefined}
`('a compressed message: $name', ({ bytes, encoding, want }) => {
  expect(inflate(bytes as Buffer, encoding as string | undefined)).toBe(want);
});

test('a compressed message that is longer than the limit gives nothing', () => {
  expect(inflate(gzipSync(plain), 'gzip', 99)).toBeUndefined();
});

test('the prefix has the flag, then the length in four bytes', () => {
  expect([...formatMessagePrefix(0x01020304, true)]).toEqual([1, 1, 2, 3, 4]);
  expect([...formatMessagePrefix(5, false)]).toEqual([0, 0, 0, 0, 5]);
});
