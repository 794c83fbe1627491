import fc from 'fast-check';
import { qosActionsFormat, type QosActions } from '../../../src/app/owed-effects/qos-actions';

const { encode, decode } = qosActionsFormat;

const RECORD =
  '{"id":"c1","podUid":"u1","namespace":"ns","pod":"p","container":"c","periodUs":100000,"originalUs":-1,' +
  '"quotaUs":50000,"previousUs":60000,"baseMilliCpu":800,"causes":[{"rule":"q/r","action":"a"}],"sinceMs":7}';
const documentWith = (record: string): string =>
  `{"version":1,"bootId":"b","tainted":true,"actionsAtMs":[1,2],"evictionsAtMs":[2],"throttles":[\n${record}\n]}\n`;

test('version 1, as it is on disk', () => {
  const spent = '"actionsAtMs":[1,2],"actionsOf":["","ns"],"evictionsAtMs":[2],"evictionsOf":["ns"]';
  const rest = '"checksum":"sha256:cca7888cbd6189b2a8d6d3aedf85252f2181e9f3bbba0197370648e5a1c559ca"';
  const text = `{"sealed":true,"version":1,"bootId":"b","tainted":true,${spent},"throttles":[\n${RECORD}\n],${rest}}\n`;
  const decoded = decode(text);
  expect(decoded).toMatchObject({
    ok: true,
    isSealed: true,
    value: {
      bootId: 'b',
      tainted: true,
      throttles: [{ id: 'c1', quotaUs: 50_000 }],
      actions: [
        { atMs: 1, namespace: '' },
        { atMs: 2, namespace: 'ns' },
      ],
      evictions: [{ atMs: 2, namespace: 'ns' }],
    },
  });
  expect(decoded.ok && encode(decoded.value)).toBe(text);
});

test('version 1 of a cpusetd that wrote no checksum and no namespaces', () => {
  expect(decode(documentWith(RECORD))).toMatchObject({
    ok: true,
    isSealed: false,
    value: {
      throttles: [{ id: 'c1' }],
      actions: [
        { atMs: 1, namespace: '' },
        { atMs: 2, namespace: '' },
      ],
    },
  });
});

test.each`
  field             | value      | want
  ${'id'}           | ${'""'}    | ${/"id" is empty/}
  ${'originalUs'}   | ${'0'}     | ${/"originalUs" is not a quota/}
  ${'originalUs'}   | ${'-2'}    | ${/"originalUs" is not a quota/}
  ${'previousUs'}   | ${'1.5'}   | ${/"previousUs" is not a quota/}
  ${'quotaUs'}      | ${'-3'}    | ${/"quotaUs" is not a quota/}
  ${'periodUs'}     | ${'0'}     | ${/"periodUs" is not a period/}
  ${'baseMilliCpu'} | ${'"800"'} | ${/"baseMilliCpu"/}
  ${'pod'}          | ${'null'}  | ${/"pod" is not a text/}
`('a record with $field $value is refused', ({ field, value, want }: Record<string, string> & { want: RegExp }) => {
  const record = RECORD.replace(new RegExp(`"${field}":("[^"]*"|-?\\d+)`), `"${field}":${value}`);
  expect(decode(documentWith(record))).toMatchObject({ ok: false, because: expect.stringMatching(want) as string });
});

test.each(['', '{"version":1', '[]', '{"version":2}', '{"version":1,"bootId":"b"}', documentWith('7')])(
  '%j is refused',
  (text) => {
    expect(decode(text)).toMatchObject({ ok: false });
  },
);

test('any names come back, and any text is answered', () => {
  const record = fc.record({
    podUid: fc.string(),
    namespace: fc.string(),
    pod: fc.string(),
    container: fc.string(),
    causes: fc.array(fc.record({ rule: fc.string(), action: fc.string() })),
    id: fc.string({ minLength: 1 }),
    originalUs: fc.oneof(fc.constant(-1), fc.integer({ min: 1 })),
    previousUs: fc.oneof(fc.constant(-1), fc.integer({ min: 1 })),
    sinceMs: fc.nat(),
    periodUs: fc.integer({ min: 1 }),
    quotaUs: fc.oneof(fc.constant(-1), fc.integer({ min: 1 })),
    baseMilliCpu: fc.nat(),
  });
  const document = fc.record({
    bootId: fc.string(),
    tainted: fc.boolean(),
    throttles: fc.array(record),
    actions: fc.array(fc.record({ atMs: fc.nat(), namespace: fc.string() })),
    evictions: fc.array(fc.record({ atMs: fc.nat(), namespace: fc.string() })),
  });
  fc.assert(
    fc.property(document, (value: QosActions) => {
      expect(decode(encode(value))).toEqual({
        ok: true,
        isSealed: true,
        value: JSON.parse(JSON.stringify(value)) as QosActions,
      });
    }),
  );
  fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (text) => void decode(text)));
});
