import fc from 'fast-check';
import { publishedOnNodeFormat } from '../../src/state';

const { encode, decode } = publishedOnNodeFormat;

test('version 1, as it is on disk', () => {
  const text = '{"version":1,"node":"node-a"}\n';
  expect(encode({ nodeName: 'node-a' })).toBe(text);
  expect(decode(text)).toEqual({ ok: true, value: { nodeName: 'node-a' } });
});

test.each`
  text                            | because
  ${''}                           | ${/not JSON/}
  ${'{"version":1,"node":"no'}    | ${/not JSON/}
  ${'[]'}                         | ${/not an object/}
  ${'{"version":2,"node":"a"}'}   | ${/has version 2, and 1 is read/}
  ${'{"node":"a"}'}               | ${/"version"/}
  ${'{"version":1}'}              | ${/"node"/}
  ${'{"version":1,"node":["a"]}'} | ${/"node"/}
`('$text is refused', ({ text, because }) => {
  expect(decode(text as string)).toMatchObject({
    ...{ ok: false, because: expect.stringMatching(because as RegExp) as string },
  });
});

test('any name comes back, and any text is answered', () => {
  fc.assert(
    fc.property(fc.string(), (nodeName) => {
      expect(decode(encode({ nodeName }))).toEqual({ ok: true, value: { nodeName } });
    }),
  );
  fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (text) => void decode(text)));
});
