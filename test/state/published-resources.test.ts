import fc from 'fast-check';
import { decodePublishedOnNode, encodePublishedOnNode } from '../../src/state';

test('version 1, as it is on disk', () => {
  const text = '{"version":1,"node":"node-a"}\n';
  expect(encodePublishedOnNode({ nodeName: 'node-a' })).toBe(text);
  expect(decodePublishedOnNode(text)).toEqual({ ok: true, published: { nodeName: 'node-a' } });
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
  expect(decodePublishedOnNode(text as string)).toMatchObject({
    ...{ ok: false, because: expect.stringMatching(because as RegExp) as string },
  });
});

test('any name comes back, and any text is answered', () => {
  fc.assert(
    fc.property(fc.string(), (nodeName) => {
      expect(decodePublishedOnNode(encodePublishedOnNode({ nodeName }))).toEqual({ ok: true, published: { nodeName } });
    }),
  );
  fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (text) => void decodePublishedOnNode(text)));
});
