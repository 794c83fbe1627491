import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { CpuSet } from '../../src/core/cpuset';
import type { PodSpec } from '../../src/core/model/pod-spec';
import { decodeState, encodeState, STATE_VERSION, type State } from '../../src/state';
import { MARKER, migrate } from '../../src/state/document';
import { checksumOf } from '../../src/state/envelope';
import { assignmentOf } from './support/assignments';

const FIXTURES = join(__dirname, '../fixtures/state');
const read = (name: string): string => readFileSync(join(FIXTURES, name), 'utf8');
const show = (text: string): string => {
  const decoded = decodeState(text);
  return decoded.ok
    ? `generation ${decoded.state.generation}, ${decoded.state.assignments.length} assignments`
    : decoded.problem.kind;
};

const GOLDEN: [name: string, outcome: string, because: string][] = [
  ['v1-empty.json', 'generation 0, 0 assignments', ''],
  ['v1-one.json', 'generation 1, 1 assignments', ''],
  ['v1-many.json', 'generation 4711, 4 assignments', ''],
  ['v1-pretty-printed.json', 'generation 4711, 4 assignments', ''],
  ['v1-unknown-fields.json', 'generation 4711, 4 assignments', ''],
  ['v2-empty.json', 'generation 0, 0 assignments', ''],
  ['v2-kinds.json', 'generation 12, 7 assignments', ''],
  ['v2-pods.json', 'generation 3, 1 assignments', ''],
  ['v2-planned.json', 'generation 4, 2 assignments', ''],
  ['newer-v99.json', 'newer', 'version 99 was written by cpusetd 9.0.0; this cpusetd reads up to 2'],
  ['broken-empty.json', 'empty', 'the file is empty'],
  ['broken-whitespace.json', 'empty', 'the file is empty'],
  ['broken-torn-in-the-head.json', 'torn', 'not JSON'],
  ['broken-torn-between-entries.json', 'torn', 'not JSON'],
  ['broken-torn-in-a-string.json', 'torn', 'not JSON'],
  ['broken-torn-before-the-checksum.json', 'torn', 'not JSON'],
  ['broken-torn-last-brace.json', 'torn', 'not JSON'],
  ['broken-two-documents.json', 'torn', 'not JSON'],
  ['broken-nul-bytes.json', 'torn', 'not JSON'],
  ['broken-binary.json', 'torn', 'not JSON'],
  ['broken-foreign-kubelet.json', 'foreign', 'not written by cpusetd'],
  ['broken-foreign-other-program.json', 'foreign', 'not written by cpusetd'],
  ['broken-foreign-array.json', 'foreign', 'not an object'],
  ['broken-foreign-text.json', 'foreign', 'not an object'],
  ['broken-foreign-null.json', 'foreign', 'not an object'],
  ['broken-invalid-utf8.json', 'garbled', 'checksum'],
  ['broken-changed-cpu.json', 'garbled', 'checksum'],
  ['broken-changed-version.json', 'garbled', 'checksum'],
  ['broken-no-checksum.json', 'garbled', 'checksum'],
  ['broken-crc.json', 'garbled', 'checksum'],
  ['broken-deep.json', 'garbled', 'checksum'],
  ['broken-version-text.json', 'garbled', '"version"'],
  ['broken-version-zero.json', 'garbled', '"version"'],
  ['broken-no-generation.json', 'garbled', '"generation"'],
  ['broken-generation-negative.json', 'garbled', '"generation"'],
  ['broken-assignments-object.json', 'garbled', '"assignments"'],
  ['inconsistent-cpu-twice.json', 'inconsistent', 'CPU 3 belongs to'],
  ['inconsistent-container-twice.json', 'inconsistent', 'has two assignments'],
  ['inconsistent-no-cpus.json', 'inconsistent', '"cpus" is empty'],
  ['inconsistent-cpus-reversed.json', 'inconsistent', 'runs backwards'],
  ['inconsistent-cpus-huge.json', 'inconsistent', 'is not a CPU list'],
  ['inconsistent-cpus-number.json', 'inconsistent', '"cpus" is not a text'],
  ['inconsistent-unknown-kind.json', 'inconsistent', '"kind" is "toString"'],
  ['inconsistent-unknown-policy.json', 'inconsistent', '"policy" is "toString", which is none we know'],
  ['inconsistent-no-rules.json', 'inconsistent', '"rules" is not an object'],
  ['inconsistent-options-numbers.json', 'inconsistent', '"options" is not a list of texts'],
  ['inconsistent-no-container-id.json', 'inconsistent', '"containerId" is not a text'],
  ['inconsistent-requested-text.json', 'inconsistent', '"requested" is not a number'],
  ['inconsistent-quota-text.json', 'inconsistent', '"quotaLifted" is neither'],
  ['inconsistent-numa-no-nodes.json', 'inconsistent', '"nodes" is not a text'],
  ['inconsistent-numa-nodes-empty.json', 'inconsistent', '"nodes" is empty'],
  ['inconsistent-numa-with-cpus.json', 'inconsistent', '"cpus" is not empty, although numa follows nodes'],
  ['inconsistent-immovable-no-cpus.json', 'inconsistent', '"cpus" is empty'],
  ['inconsistent-scope-unknown.json', 'inconsistent', '"scope" is not "pod"'],
  ['inconsistent-chosen-by-number.json', 'inconsistent', '"chosenBy" is not a text'],
  ['inconsistent-pod-set-in-two-pods.json', 'inconsistent', 'CPU 4 belongs to e/main and f/main'],
  ['inconsistent-pod-set-and-own.json', 'inconsistent', 'CPU 6 belongs to e/main and e/own'],
  ['inconsistent-immovable-and-exclusive.json', 'inconsistent', 'CPU 7 belongs to x/main and i/main'],
  ['inconsistent-null-entry.json', 'inconsistent', 'entry 0: the entry is not an object'],
];

describe('golden files', () => {
  test.each(GOLDEN)('%s is read as: %s', (name, outcome, because) => {
    const decoded = decodeState(read(name));
    expect(show(read(name))).toBe(outcome);
    expect(decoded.ok ? '' : decoded.problem.because).toContain(because);
  });

  test('each file of the folder has a row in the table', () => {
    const files = readdirSync(FIXTURES).filter((name) => name !== 'README.md');
    expect(files.sort()).toEqual(GOLDEN.map(([name]) => name).sort());
  });

  test.each(['v2-empty.json', 'v2-kinds.json', 'v2-planned.json'])('%s is written again byte for byte', (name) => {
    const decoded = decodeState(read(name));
    expect(decoded.ok && encodeState(decoded.state)).toBe(read(name));
  });

  test.each(['v1-empty.json', 'v1-one.json', 'v1-many.json'])(
    '%s: each entry is written again byte for byte',
    (name) => {
      const decoded = decodeState(read(name));
      const entriesOf = (text: string): string[] => text.split('\n').slice(1, -2);
      expect(entriesOf(decoded.ok ? encodeState(decoded.state) : '')).toEqual(entriesOf(read(name)));
    },
  );

  test('a pretty-printed file gives the same state as the original', () => {
    expect(decodeState(read('v1-pretty-printed.json'))).toEqual(decodeState(read('v1-many.json')));
  });

  test('a file cut at any byte is refused', () => {
    const text = read('v1-many.json').trimEnd();
    const accepted = Array.from({ length: text.length }, (_, i) => text.slice(0, i)).filter(
      (cut) => decodeState(cut).ok,
    );
    expect(accepted).toEqual([]);
  });

  test('a file with one flipped bit is refused', () => {
    const bytes = readFileSync(join(FIXTURES, 'v1-one.json'));
    const original = decodeState(bytes.toString('utf8'));
    const kinds = new Set<string>();
    for (let bit = 0; bit < (bytes.length - 1) * 8; bit++) {
      const turned = Buffer.from(bytes);
      turned[bit >> 3]! ^= 1 << (bit & 7);
      const decoded = decodeState(turned.toString('utf8'));
      // White space may become other white space, with the same content.
      if (decoded.ok) expect(decoded).toEqual(original);
      else kinds.add(decoded.problem.kind);
    }
    expect([...kinds].sort()).toEqual(['foreign', 'garbled', 'torn']);
  });
});

describe('entries that contradict each other', () => {
  test.each`
    name                                            | cpus                          | accepted      | rejected
    ${'an overlap of two: both are rejected'}       | ${['1-2', '2-3', '4']}        | ${['4']}      | ${[0, 1]}
    ${'a chain of overlaps: all of it is rejected'} | ${['1-2', '2-3', '3-4', '9']} | ${['9']}      | ${[0, 1, 2]}
    ${'an entry without CPUs: only it is rejected'} | ${['1', '', '3']}             | ${['1', '3']} | ${[1]}
  `('$name', ({ cpus, accepted, rejected }: { cpus: string[]; accepted: string[]; rejected: number[] }) => {
    const assignments = cpus.map((list, i) => assignmentOf(`c${i}`, list));
    const decoded = decodeState(encodeState({ writtenBy: '0.1.0', generation: 1, assignments }));
    if (decoded.ok || decoded.problem.kind !== 'inconsistent') throw new Error('taken for consistent');
    expect(decoded.problem.salvaged.assignments.map(({ cpus: set }) => set.toString())).toEqual(accepted);
    expect(decoded.problem.entries.map(({ index }) => index)).toEqual(rejected);
  });

  test('a rejected entry is named by pod and container', () => {
    const assignments = [assignmentOf('a', '1', { podUid: 'u' }), assignmentOf('b', '1', { podUid: 'u' })];
    const decoded = decodeState(encodeState({ writtenBy: '0.1.0', generation: 1, assignments }));
    expect(decoded).toMatchObject({
      problem: { entries: [{ key: 'u/a', because: 'CPU 1 belongs to u/a and u/b' }, { key: 'u/b' }] },
    });
  });
});

describe('encodeState', () => {
  test.each([
    ['no list', { cpus: 'all' }],
    ['an empty list, which nothing would be left of', { cpus: '' }],
    ['no memory nodes', { mems: '0-' }],
    ['no text', { mems: 4 }],
  ])('what a request brought is dropped where it is %s, and the others are read', (_name, broken) => {
    const brought = [
      { podUid: 'p', containerName: 'a', ...broken },
      { podUid: 'p', containerName: 'b', cpus: '4-5' },
    ];
    const content = { version: STATE_VERSION, writtenBy: `${MARKER}0`, generation: 1, assignments: [], brought };
    const text = JSON.stringify({ ...content, checksum: checksumOf(JSON.stringify(content)) });
    expect(decodeState(text)).toMatchObject({ ok: true, state: { brought: [{ containerName: 'b' }] } });
  });

  test('an invalid pod is dropped, and the others are read', () => {
    const pod = {
      uid: 'u',
      namespace: 'n',
      name: 'p',
      qos: 'Guaranteed',
      finished: false,
      containers: [],
      annotations: {},
    };
    const bad = [
      null,
      [],
      'p',
      { ...pod, uid: 1 },
      { ...pod, qos: 'Best' },
      { ...pod, finished: 'no' },
      { ...pod, containers: {} },
      { ...pod, containers: [null] },
      { ...pod, containers: [{ name: 'c', kind: 'toString', ended: false }] },
      { ...pod, containers: [{ name: 'c', kind: 'app', ended: false, requestMilliCpu: -1 }] },
      { ...pod, annotations: { a: 1 } },
      { ...pod, annotations: ['a'] },
    ];
    const text = encodeState({
      writtenBy: 'x',
      generation: 1,
      assignments: [assignmentOf('a', '1')],
      pods: [...bad.map((entry) => ({ toJSON: () => entry })), pod] as unknown as PodSpec[],
    });
    expect(decodeState(text)).toMatchObject({
      ok: true,
      state: { assignments: [{ containerName: 'a' }], pods: [pod] },
    });
    const without = encodeState({ writtenBy: 'x', generation: 1, assignments: [] });
    expect(without).not.toContain('pods');
    expect(decodeState(without)).toMatchObject({ ok: true, state: { pods: [] } });
  });

  test('a random disjoint state is the same after encoding and decoding', () => {
    const anyText = fc.string({ unit: 'binary' });
    const anyState = fc
      .record({
        writtenBy: fc.string(),
        generation: fc.nat(),
        texts: fc.array(fc.record({ a: anyText, b: anyText, idle: fc.boolean() })),
      })
      .map(({ writtenBy, generation, texts }): State => ({
        writtenBy,
        generation,
        assignments: texts.map(({ a, b, idle }, i) =>
          assignmentOf(`${i}${a}`, `${3 * i}-${3 * i + 1}`, { podUid: b, because: a, containerId: idle ? null : b }),
        ),
        pods: texts.map(({ a, b, idle }) => ({
          uid: a,
          namespace: b,
          name: a,
          qos: 'Burstable' as const,
          finished: idle,
          containers: [{ name: b, kind: 'sidecar' as const, ended: idle, requestMilliCpu: 1500 }],
          ...(idle && { podResources: { limitMemoryBytes: 1 } }),
          annotations: { 'cpusetd.io/policy': a },
        })),
        brought: texts.map(({ a, b, idle }, i) => ({
          podUid: a,
          containerName: b,
          ...(idle && { cpus: CpuSet.of([i]) }),
          mems: CpuSet.of([i % 4]),
        })),
        podLevel: texts.map(({ a, idle }) => ({
          podUid: a,
          shown: idle ? ('whole' as const) : ('resized' as const),
          shares: 2048,
          ...(idle && { periodUs: 1 }),
        })),
      }));
    fc.assert(
      fc.property(anyState, (state) => {
        const decoded = decodeState(encodeState(state));
        expect(decoded).toEqual({ ok: true, state, version: STATE_VERSION });
      }),
      { seed: 20261121, numRuns: 300 },
    );
  });

  test('lone surrogates in a name are kept', () => {
    const state = { writtenBy: '0', generation: 1, assignments: [assignmentOf('\ud800x', '1')] };
    expect(decodeState(Buffer.from(encodeState(state), 'utf8').toString('utf8'))).toMatchObject({ ok: true, state });
  });

  test('only a changed assignment has a new text', () => {
    const [a, b] = [assignmentOf('a', '1'), assignmentOf('b', '2')];
    const first = encodeState({ writtenBy: '0', generation: 1, assignments: [a, b] });
    const second = encodeState({ writtenBy: '0', generation: 1, assignments: [a, { ...b, cpus: CpuSet.of([7]) }] });
    expect(second.split('\n')[1]).toBe(first.split('\n')[1]);
    expect(second.split('\n')[2]).toBe(first.split('\n')[2]!.replace('"cpus":"2"', '"cpus":"7"'));
  });

  test.each([-1, 0.5, NaN, 2 ** 53])('encodeState throws for generation %p', (generation) => {
    expect(() => encodeState({ writtenBy: '0', generation, assignments: [] })).toThrow(RangeError);
  });
});

test('migrations run from the version of the file to the present one, in order', () => {
  const steps = ['1to2', '2to3', '3to4'].map((step) => (content: Readonly<Record<string, unknown>>) => ({
    ...content,
    steps: [...((content['steps'] ?? []) as string[]), step],
  }));
  expect(migrate({ kept: true }, 2, steps)).toEqual({ kept: true, steps: ['2to3', '3to4'] });
  expect(migrate({ kept: true }, 4, steps)).toEqual({ kept: true });
});
