import fc from 'fast-check';
import type { Refusal } from '../../src/core/model/refusal';
import { decodeRefusals, encodeRefusals, MAX_REFUSALS_BYTES } from '../../src/state/refusals';

const REFUSAL: Refusal = {
  podUid: 'uid',
  podNamespace: 'ns',
  podName: 'db',
  containerName: 'main',
  asked: 'creation',
  requested: 4,
  policy: 'exclusive',
  chosenBy: 'cpusetd.io/policy',
  code: 'RESOURCE_EXHAUSTED',
  because: 'asked for 4 exclusive CPUs, 3 can be given now',
  zones: [{ node: 0, allocatable: 7, free: 3 }],
  firstAt: '2026-11-22T10:00:00.000Z',
  lastAt: '2026-11-22T10:05:00.000Z',
  times: 12,
};
const { chosenBy: _none, ...BY_THE_NODE } = REFUSAL;
const OTHERS: readonly Refusal[] = [
  { ...BY_THE_NODE, podUid: 'other', asked: 'change', code: 'UNAVAILABLE', requested: 0, zones: [], policy: 'static' },
];

test('refusals are the same after encoding and decoding', () => {
  const whole = { ...REFUSAL, podCount: 6, memoryBytes: 2 ** 40, isBound: true as const };
  for (const refusals of [[], [REFUSAL], [REFUSAL, ...OTHERS], [whole]])
    expect(decodeRefusals(encodeRefusals(refusals))).toEqual({ ok: true, value: refusals });
});

test('the maximum number of refusals with the longest texts is within the read limit', () => {
  const text = '\u0000'.repeat(1_024);
  const name = '\u0000'.repeat(253);
  const zones = Array.from({ length: 16 }, (_, node) => ({ node: node + 1e9, allocatable: 1e9, free: 1e9 }));
  const largest = Array.from({ length: 256 }, (_, i) => ({
    ...REFUSAL, podUid: `${i}${name}`, podNamespace: name, podName: name, containerName: name, because: text, chosenBy: '\u0000'.repeat(320), zones,
  })); // prettier-ignore
  expect(Buffer.byteLength(encodeRefusals(largest))).toBeLessThan(MAX_REFUSALS_BYTES);
});

test.each([
  ['empty', '', /is not JSON/],
  ['cut off', encodeRefusals([REFUSAL]).slice(0, -10), /is not JSON/],
  ['a list', '[]', /is not of ours/],
  ['null', 'null', /is not of ours/],
  ['of another kind', '{"version":1}', /"refusals" is not a list/],
  ['of a newer version', '{"version":2,"refusals":[]}', /has version 2, and 1 is read/],
])('a file that is %s is refused', (_name, text, because) => {
  expect(decodeRefusals(text)).toEqual({ ok: false, because: expect.stringMatching(because) as string });
});

test.each([
  ['asked', 'toString'],
  ['code', '__proto__'],
  ['policy', 'None'],
  ['requested', -1],
  ['requested', 1.5],
  ['times', 2 ** 32],
  ['times', '3'],
  ['firstAt', 'yesterday'],
  ['lastAt', null],
  ['zones', {}],
  ['zones', [null]],
  ['zones', [{ node: -1, allocatable: 1, free: 1 }]],
  ['podUid', 7],
  ['chosenBy', 7],
])('an entry whose %s is %j is dropped, and the others are read', (field, value) => {
  const text = JSON.stringify({ version: 1, refusals: [{ ...REFUSAL, [field]: value }, null, ...OTHERS] });
  expect(decodeRefusals(text)).toEqual({ ok: true, value: OTHERS });
});

test('two entries of one container: the last one is read', () => {
  const decoded = decodeRefusals(encodeRefusals([REFUSAL, { ...REFUSAL, times: 13 }]));
  expect(decoded.ok && decoded.value.map(({ times }) => times)).toEqual([13]);
});

test('a damaged text gives entries that can be written again, or a reason', () => {
  const good = encodeRefusals([REFUSAL, ...OTHERS]);
  const edit = fc.record({
    at: fc.nat(good.length),
    drop: fc.nat(30),
    insert: fc.oneof(fc.constant(''), fc.json(), fc.string()),
  });
  fc.assert(
    fc.property(fc.oneof(fc.array(edit, { maxLength: 3 }), fc.string()), (edits) => {
      const text =
        typeof edits === 'string'
          ? edits
          : edits.reduce(
              (edited, { at, drop, insert }) => edited.slice(0, at) + insert + edited.slice(at + drop),
              good,
            );
      const decoded = decodeRefusals(text);
      if (decoded.ok) expect(decodeRefusals(encodeRefusals(decoded.value))).toEqual(decoded);
    }),
    { numRuns: 5_000 },
  );
});
