import fc from 'fast-check';
import { publishedOnNodeFormat } from '../../src/state';

const { encode, decode } = publishedOnNodeFormat;

test('version 1, as it is on disk', () => {
  const text =
    '{"sealed":true,"version":1,"node":"node-a","checksum":"sha256:5586d9730944c62c41235c2c6010576e8ab898972193bc8734a38ea46c062851"}\n';
  expect(encode({ nodeName: 'node-a' })).toBe(text);
  expect(decode(text)).toEqual({ ok: true, value: { nodeName: 'node-a' }, isSealed: true });
  // As a cpusetd wrote it that knew no checksum.
  expect(decode('{"version":1,"node":"node-a"}\n')).toMatchObject({ ok: true, isSealed: false });
});

test.each`
  text                            | because
  ${''}                           | ${/empty/}
  ${'{"version":1,"node":"no'}    | ${/not JSON/}
  ${'[]'}                         | ${/not an object/}
  ${'{"version":2,"node":"a"}'}   | ${/has version 2, and 1 is read/}
  ${'{"node":"a"}'}               | ${/"version"/}
  ${'{"version":1}'}              | ${/"node"/}
  ${'{"version":1,"node":["a"]}'} | ${/"node"/}
`('$text is refused', ({ text, because }) => {
  expect(decode(text as string)).toMatchObject({
    ok: false,
    because: expect.stringMatching(because as RegExp) as string,
  });
});

test('any name comes back, and any text is answered', () => {
  fc.assert(
    fc.property(fc.string(), (nodeName) => {
      expect(decode(encode({ nodeName }))).toEqual({ ok: true, value: { nodeName }, isSealed: true });
    }),
  );
  fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (text) => void decode(text)));
});
