import fc from 'fast-check';
import { CpuSet } from '../../../src/core/cpuset';
import { MAX_KUBELET_STATE_BYTES, formatKubeletState, parseKubeletState } from '../../../src/state/kubelet-checkpoint';
import { leastCpuMs } from '../../support/cpu-time';
import { stateOf } from './vectors';

/** A fast machine needs at most 100 ms; the rest is for slow ones. */
const MOST_MS = 500;
const HEAD = '"policyName":"static","defaultCpuSet":"0-1"';

/** A text with as many parts as fit into the largest file. */
function filled(before: string, part: (i: number) => string, after: string): string {
  const parts: string[] = [before];
  let length = before.length + after.length;
  for (let i = 0; ; i++) {
    const next = part(i);
    length += next.length + 1;
    if (length > MAX_KUBELET_STATE_BYTES) return `${parts.join('')}${after}`.replace(/,(?=[}\]]*$)/, '');
    parts.push(next, ',');
  }
}

const podEntry = (i: number): string => `"${i}":{"cpuSet":"0-65535"}`;
const WHOLE_LISTS = Array.from({ length: 3500 }, () => '0-65535').join(',');

test.each`
  name                                            | text                                                                                                                         | problem
  ${'28 KB of full ranges in one list'}         | ${`{${HEAD},"podEntries":{"p":{"cpuSet":"${WHOLE_LISTS}"}},"checksum":1}`}                                                    | ${'corrupted'}
  ${'28 KB of full ranges, one per pod'}       | ${`{${HEAD},"podEntries":{${Array.from({ length: 1100 }, (_, i) => podEntry(i)).join(',')}},"checksum":1}`}                   | ${'too-large'}
  ${'the maximum number of pods in the file size'}                        | ${filled(`{${HEAD},"checksum":1,"podEntries":{`, podEntry, '}}')}                                                             | ${'too-large'}
  ${'the maximum number of containers in the file size'}                  | ${filled(`{${HEAD},"checksum":1,"entries":{"p":{`, (i) => `"${i}":""`, '}}}')}                                                | ${'too-large'}
  ${'the maximum number of unknown keys in the file size'}                | ${filled(`{${HEAD},"checksum":1,`, (i) => `"${i}":0`, '}')}                                                                   | ${'too-large'}
  ${'the maximum number of non-ASCII keys in the file size'}           | ${filled(`{${HEAD},"checksum":1,"entries":{`, (i) => `"\u{1f4a1}${i}":{}`, '}}')}                                             | ${'too-large'}
  ${'a list as long as the file'}               | ${filled(`{${HEAD},"checksum":1,"entries":{"p":{"c":"`, (i) => `${i % 8192}`, '"}}}')}                                        | ${'corrupted'}
  ${'a name as long as the file'}               | ${`{${HEAD},"checksum":1,"entries":{"${'n'.repeat(MAX_KUBELET_STATE_BYTES - 100)}":{"c":"x"}}}`}                              | ${'corrupted'}
  ${'a non-ASCII name as long as the file'}  | ${`{${HEAD},"checksum":1,"entries":{"${'\u00fc'.repeat(MAX_KUBELET_STATE_BYTES - 100)}":{"c":"x"}}}`}                         | ${'corrupted'}
  ${'the largest text within all limits'}         | ${`{${HEAD},"checksum":1,"podEntries":{"p":{"cpuSet":"0-65535"}}}`} | ${'corrupted'}
  ${'full ranges in the data of v4'} | ${JSON.stringify({ data: `{${HEAD},"podEntries":{"p":{"cpuSet":"${WHOLE_LISTS}"}}}`, dataChecksum: 1 })}                      | ${'corrupted'}
  ${'unclosed lists nested as deep as the file size allows'}               | ${'['.repeat(MAX_KUBELET_STATE_BYTES)}                                                                                       | ${'not-json'}
  ${'deeply nested lists'}              | ${'['.repeat(250_000) + ']'.repeat(250_000)}                                                                                 | ${'shape'}
  ${'deeply nested objects'}            | ${`{${HEAD},"entries":` + '{"a":'.repeat(150_000) + '1' + '}'.repeat(150_001)}                                               | ${'shape'}
`('$name: refused in bounded time with a short reason', ({ text, problem }: Record<string, string>) => {
  const parsed = parseKubeletState(text!);
  expect(parsed).toMatchObject({ ok: false, problem });
  expect('because' in parsed && parsed.because.length).toBeLessThan(400);
  expect(leastCpuMs(() => parseKubeletState(text!), { limitMs: MOST_MS })).toBeLessThan(MOST_MS);
}); // prettier-ignore

test('a node with 4,096 CPUs and a container on each is within the limits in every format', () => {
  const entries = Object.fromEntries(
    Array.from({ length: 4096 }, (_, cpu) => [
      `8f3c1f60-54be-4a4c-9f4d-${String(cpu).padStart(12, '0')}`,
      { 'a-container-with-a-name-of-forty-letters': `${cpu}` },
    ]),
  );
  const pods = new Map([['one-pod-with-all', CpuSet.range(0, 4095).toString()]]);
  const state = { ...stateOf({ policyName: 'static', defaultCpuSet: '', entries }), podEntries: pods };
  for (const format of ['v2', 'v3', 'v4'] as const) {
    const text = formatKubeletState(state, format);
    const parsed = parseKubeletState(text);
    expect({ format, ok: parsed.ok, because: 'because' in parsed && parsed.because }).toEqual({
      format,
      ok: true,
      because: false,
    });
    expect(leastCpuMs(() => parseKubeletState(text), { limitMs: MOST_MS })).toBeLessThan(MOST_MS);
  }
});

describe('a random text gives a state or a problem:', () => {
  const parts = fc.constantFrom(
    ...[
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      '"policyName":"static"',
      '"defaultCpuSet":"0-3"',
      '"entries":',
      '"podEntries":',
    ],
    ...[
      '"cpuSet":',
      '"data":',
      '"checksum":0',
      '"dataChecksum":',
      '{}',
      'null',
      '"0-65535"',
      '"9-1"',
      '-1',
      '1e999',
      '\u0000',
    ],
    ...['{"policyName":"static","entries":', '{"p":', '{"c":"3"}', '}}', '\\u', '\ud800'],
  );
  const leaf = fc.oneof(
    fc.jsonValue({ maxDepth: 1 }),
    fc.constantFrom('', '0-3', '0-65535', '7,', 'static', '{}', 0, null),
  );
  const key = fc.constantFrom(
    'policyName',
    'defaultCpuSet',
    'entries',
    'podEntries',
    'checksum',
    'data',
    'cpuSet',
    '__proto__',
  );
  const nest = (value: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
    fc.oneof(leaf, fc.dictionary(key, value, { maxKeys: 4 }));
  const json = fc.dictionary(key, nest(nest(nest(leaf)))).map((value) => JSON.stringify(value)); // prettier-ignore

  test.each([
    ['bytes', fc.uint8Array({ maxLength: 4096 }).map((bytes) => Buffer.from(bytes).toString('utf8'))],
    ['pieces of checkpoint files', fc.array(parts, { maxLength: 40 }).map((pieces) => pieces.join(''))],
    ['JSON', json],
  ])('%s', (_name, texts) => {
    fc.assert(
      fc.property(texts, (text) => {
        const parsed = parseKubeletState(text);
        expect(parsed.ok || parsed.because !== '').toBe(true);
      }),
      { seed: 17, numRuns: 1000 },
    );
  });
});
