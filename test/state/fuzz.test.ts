import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { decodeState, encodeState } from '../../src/state';
import { formatKubeletState, formatKubeletStateV1, parseKubeletState } from '../../src/state/kubelet-checkpoint';
import { POLICY_NAMES } from '../../src/core/model/policies';
import { KINDS } from '../../src/core/model/pool-view';
import { readAssignment } from '../../src/state/read-entries';
import { VECTORS } from './kubelet-checkpoint/vectors';

const SEED = 20261121;
const RUNS = 20_000;
/** A few kilobytes take well under a millisecond. The limit is far above that and far below a hang. */
const MAX_MS = 500;

const OURS = [
  'v1-empty',
  'v1-one',
  'v1-many',
  'v1-pretty-printed',
  'v2-kinds',
  'v2-planned',
  'inconsistent-cpu-twice',
  'newer-v99',
  'broken-torn-in-a-string',
].map((name) => readFileSync(join(__dirname, `../fixtures/state/${name}.json`), 'utf8'));
const KUBELETS = VECTORS.map(({ file }) => file);

/** Texts that parsers may fail on. */
const anyPiece = fc.oneof(
  fc.constantFrom(
    'null',
    '{}',
    '[]',
    '"',
    '\\',
    '\\ud800',
    '"__proto__":',
    '0-65535',
    '1e999',
    '-',
    ',',
    '}',
    '{',
    '[',
    '\u0000',
    '\ufeff',
    '99999999999',
  ),
  fc.constant('['.repeat(5_000)),
  fc.constant('0-65535,'.repeat(50)),
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc.json({ maxDepth: 3 }),
);

/** A good file with a few cuts, insertions and replacements, or random text. */
function anyInput(files: readonly string[]): fc.Arbitrary<string> {
  const anyEdit = fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    drop: fc.nat(40),
    insert: fc.oneof(fc.constant(''), anyPiece),
  });
  const mutated = fc
    .tuple(fc.constantFrom(...files), fc.array(anyEdit, { minLength: 1, maxLength: 4 }))
    .map(([file, edits]) =>
      edits.reduce((text, { at, drop, insert }) => {
        const index = Math.floor(at * text.length);
        return text.slice(0, index) + insert + text.slice(index + drop);
      }, file),
    );
  return fc.oneof({ weight: 8, arbitrary: mutated }, anyPiece, fc.string({ unit: 'binary' }), fc.json());
}

/** Milliseconds of CPU time. */
function timeMs(act: () => void): number {
  const start = process.cpuUsage();
  act();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1_000;
}

function slowest(files: readonly string[], decode: (text: string) => void): number {
  let maxMs = 0;
  fc.assert(
    fc.property(anyInput(files), (text) => {
      // A slow run may collect the garbage of others, so it is repeated twice.
      let ms = timeMs(() => decode(text));
      for (let again = 0; again < 2 && ms > MAX_MS; again++)
        ms = Math.min(
          ms,
          timeMs(() => decode(text)),
        );
      maxMs = Math.max(maxMs, ms);
    }),
    { seed: SEED, numRuns: RUNS },
  );
  return maxMs;
}

test(`decodeState reads ${RUNS} damaged texts without throwing, and an accepted state is the same after encoding and decoding`, () => {
  const outcomes = new Map<string, number>();
  const count = (outcome: string): unknown => outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  const maxMs = slowest(OURS, (text) => {
    const decoded = decodeState(text);
    if (!decoded.ok) return count(decoded.problem.kind);
    expect(decodeState(encodeState(decoded.state))).toMatchObject({ ok: true, state: decoded.state });
    return count('ok');
  });
  expect([...outcomes.keys()]).toEqual(expect.arrayContaining(['torn', 'foreign', 'garbled', 'empty']));
  expect(maxMs).toBeLessThan(MAX_MS);
});

test('an entry with a random value in one field is an assignment, or refused with a reason', () => {
  const good = JSON.parse(OURS[4]!) as { assignments: Record<string, unknown>[] };
  const anyValue = fc.oneof(
    fc.json().map((text) => JSON.parse(text) as unknown),
    fc.string(),
    fc.constantFrom('toString', '__proto__', 'None', 'none', 'numa'),
  );
  const anyField = fc.constantFrom(
    ...Object.keys(good.assignments[0]!),
    'rules.policy',
    'rules.options',
    'rules.chosenBy',
    'nodes',
    'scope',
  );
  const outcomes = { taken: 0, refused: 0 };
  fc.assert(
    fc.property(fc.constantFrom(...good.assignments), anyField, anyValue, (entry, field, value) => {
      const [name, inner] = field.split('.') as [string, string | undefined];
      const changed = inner === undefined ? value : { ...(entry[name] as object), [inner]: value };
      const read = readAssignment({ ...entry, [name]: changed });
      outcomes['assignment' in read ? 'taken' : 'refused']++;
      if (!('assignment' in read)) return expect(read.because).toMatch(/\S/);
      expect(POLICY_NAMES).toContain(read.assignment.rules.policy);
      return expect(Object.keys(KINDS)).toContain(read.assignment.kind);
    }),
    { seed: SEED, numRuns: 5_000 },
  );
  expect(Math.min(outcomes.taken, outcomes.refused)).toBeGreaterThan(100);
});

test(`parseKubeletState reads ${RUNS} damaged texts without throwing, and an accepted one can be written and read again`, () => {
  const outcomes = new Set<string>();
  const maxMs = slowest(KUBELETS, (text) => {
    const parsed = parseKubeletState(text);
    outcomes.add(parsed.ok ? parsed.format : parsed.problem);
    if (!parsed.ok) return;
    const again =
      parsed.format === 'v1' ? formatKubeletStateV1(parsed.state) : formatKubeletState(parsed.state, parsed.format);
    expect(parseKubeletState(again)).toMatchObject({ ok: true });
  });
  expect([...outcomes]).toEqual(expect.arrayContaining(['not-json', 'shape', 'corrupted', 'v2']));
  expect(maxMs).toBeLessThan(MAX_MS);
});
