import fc from 'fast-check';
import { CpuSet, parseCpuList } from '../../../src/core/cpuset';
import { saysTheSame } from '../../../src/core/identity/cpu-identity';
import type { CpuIdentity } from '../../../src/core/model/cpu-identity';
import { formatIdentity, parseIdentity } from '../../../src/core/identity/document';

const identity: CpuIdentity = {
  kind: 'static',
  cpus: parseCpuList('2-5'),
  numaNodes: parseCpuList('0'),
  since: '2026-11-24T19:57:01.250Z',
};

test('the text is the one that the page shows', () => {
  expect(formatIdentity(identity)).toBe(
    '{\n  "version": 1,\n  "kind": "static",\n  "cpus": "2-5",\n  "numaNodes": "0",\n  "since": "2026-11-24T19:57:01.250Z"\n}\n',
  );
  expect(formatIdentity({ kind: 'unmanaged' })).toBe('{\n  "version": 1,\n  "kind": "unmanaged"\n}\n');
});

const anySet = fc.array(fc.nat(300), { minLength: 1 }).map((ids) => CpuSet.of(ids));
const anyIdentity: fc.Arbitrary<CpuIdentity> = fc.record(
  {
    kind: fc.constantFrom('static', 'exclusive', 'immovable', 'numa', 'shared', 'unmanaged'),
    scope: fc.constant('pod'),
    cpus: anySet,
    numaNodes: anySet,
    memoryNodes: anySet,
    since: fc.constant('2026-01-01T00:00:00Z'),
  },
  { requiredKeys: ['kind'] },
);

test('what was written is read back', () => {
  fc.assert(
    fc.property(anyIdentity, (given) => {
      const read = parseIdentity(formatIdentity(given))!;
      expect(formatIdentity(read)).toBe(formatIdentity(given));
      expect(saysTheSame(read, given)).toBe(true);
    }),
  );
});

test.each([
  ['nothing', ''],
  ['null', 'null'],
  ['another version', formatIdentity(identity).replace('1', '2')],
  ['another kind', formatIdentity(identity).replace('static', 'best')],
  ['CPUs that are no list', formatIdentity(identity).replace('2-5', '5-2')],
  ['CPUs that are no text', formatIdentity(identity).replace('"2-5"', '7')],
  ['half a file', formatIdentity(identity).slice(0, 40)],
  ['a further field', formatIdentity(identity).replace('{', '{"more": 1,')],
])('%s is written anew', (_what, text) => {
  expect(parseIdentity(text)).toBeUndefined();
});

test.each<[string, Partial<CpuIdentity>, boolean]>([
  ['another time', { since: 'later' }, true],
  ['other CPUs', { cpus: parseCpuList('2-4') }, false],
  ['another kind', { kind: 'exclusive' }, false],
  ['another scope', { scope: 'pod' }, false],
  ['other nodes', { numaNodes: parseCpuList('0-1') }, false],
  ['memory nodes', { memoryNodes: parseCpuList('0') }, false],
])('given %s, then both say the same: %s', (_what, change, same) => {
  expect(saysTheSame(identity, { ...identity, ...change })).toBe(same);
});
