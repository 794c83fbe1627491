import fc from 'fast-check';
import { type Binding, Bindings } from '../../../src/scheduling/load/bindings';
import { hotValueOf, longestRangeMs } from '../../../src/scheduling/load/hot-value';

const nowMs = Date.parse('2023-03-01T02:00:00Z');
const hotValue = [
  { timeRangeMs: 300_000, count: 5 },
  { timeRangeMs: 60_000, count: 2 },
];

/** Bindings of one node, so many seconds ago. */
function bind(agesSeconds: readonly number[], node = 'node-a'): Bindings {
  const bindings = new Bindings(1_024);
  agesSeconds.forEach((age, i) => bindings.add({ uid: `${node}-${i}`, node, timestampMs: nowMs - age * 1_000 }));
  return bindings;
}

test('given twelve bindings in five minutes, five of them in the last: a hot value of 2 + 2', () => {
  const bindings = bind([1, 2, 3, 4, 59, 60, 70, 80, 90, 100, 200, 299]);
  expect(bindings.count('node-a', 300_000, nowMs)).toBe(12);
  expect(bindings.count('node-a', 60_000, nowMs)).toBe(5);
  expect(hotValueOf({ hotValue }, bindings, 'node-a', nowMs)).toBe(4);
  expect(hotValueOf({ hotValue }, bindings, 'node-b', nowMs)).toBe(0);
});

test('given a binding exactly as old as the range: it does not count', () => {
  expect(bind([60]).count('node-a', 60_000, nowMs)).toBe(0);
  expect(bind([59]).count('node-a', 60_000, nowMs)).toBe(1);
});

test('given an Event that is updated: its binding counts once', () => {
  const bindings = new Bindings(10);
  for (let n = 0; n < 3; n++) bindings.add({ uid: 'one', node: 'node-a', timestampMs: nowMs - n });
  expect(bindings.count('node-a', 60_000, nowMs)).toBe(1);
});

test('given a binding that is forgotten, and all but some: the others count on', () => {
  const bindings = bind([1, 2, 3]);
  expect(bindings.remove('node-a-1')).toBe('node-a');
  expect(bindings.remove('node-a-1')).toBeUndefined();
  expect([bindings.count('node-a', 60_000, nowMs), bindings.size]).toEqual([2, 2]);
  bindings.keepOnly(new Set(['node-a-2', 'never-seen']));
  expect([bindings.count('node-a', 60_000, nowMs), bindings.size]).toEqual([1, 1]);
  bindings.keepOnly(new Set());
  expect([...bindings.nodes]).toEqual([]);
});

test('given a full store: the oldest makes room, which may be the new one', () => {
  const bindings = new Bindings(2);
  bindings.add({ uid: 'b', node: 'node-b', timestampMs: nowMs - 2_000 });
  bindings.add({ uid: 'a', node: 'node-a', timestampMs: nowMs - 3_000 });
  bindings.add({ uid: 'c', node: 'node-a', timestampMs: nowMs - 1_000 });
  bindings.add({ uid: 'old', node: 'node-a', timestampMs: nowMs - 9_000 });
  expect([bindings.size, bindings.count('node-a', 60_000, nowMs), bindings.count('node-b', 60_000, nowMs)]).toEqual([
    2, 1, 1,
  ]);
});

test('given a policy without hot value: no range', () => {
  expect(longestRangeMs({ hotValue: [] })).toBe(0);
  expect(longestRangeMs({ hotValue })).toBe(300_000);
});

const NODES = ['node-a', 'node-b', 'node-c'];
const streams = fc.array(
  fc.record({
    id: fc.nat(60),
    node: fc.constantFrom(...NODES),
    /** Out of order, and after the clock was stepped also in the future. */
    ageMs: fc.integer({ min: -30_000, max: 400_000 }),
  }),
  { maxLength: 120 },
);

test('given any stream of bindings, with repetitions, out of order and with clock steps: the counts are those of a plain count', () => {
  fc.assert(
    fc.property(
      streams,
      fc.integer({ min: 5, max: 80 }),
      fc.integer({ min: 0, max: 400 }),
      (stream, most, rangeSeconds) => {
        const bindings = new Bindings(most);
        let known: Binding[] = [];
        for (const { id, node, ageMs } of stream) {
          const binding = { uid: String(id), node, timestampMs: nowMs - ageMs };
          bindings.add(binding);
          if (known.some((other) => other.uid === binding.uid)) continue;
          known.push(binding);
          if (known.length <= most) continue;
          const oldest = Math.min(...known.map(({ timestampMs }) => timestampMs));
          // Of several oldest ones any may go: such a stream says nothing here.
          fc.pre(known.filter(({ timestampMs }) => timestampMs === oldest).length === 1);
          known = known.filter(({ timestampMs }) => timestampMs !== oldest);
        }
        expect(bindings.size).toBe(known.length);
        for (const node of NODES) {
          const since = Math.floor(nowMs / 1_000) - rangeSeconds;
          const expected = known.filter(
            (each) => each.node === node && Math.floor(each.timestampMs / 1_000) > since,
          ).length;
          expect(bindings.count(node, rangeSeconds * 1_000, nowMs)).toBe(expected);
        }
        bindings.dropUntil(nowMs - 100_000);
        expect(bindings.size).toBe(known.filter(({ timestampMs }) => timestampMs > nowMs - 100_000).length);
      },
    ),
  );
});
