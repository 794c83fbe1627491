import fc from 'fast-check';
import { CpuSet, MAX_CPU_ID, parseCpuList } from '../../../src/core/cpuset';

const ids = fc.array(fc.integer({ min: 0, max: 300 }), { maxLength: 60 });
const RUNS = { seed: 3, numRuns: 500 };

function sorted(values: Iterable<number>): number[] {
  return [...new Set(values)].sort((a, b) => a - b);
}

test('operations give the same as on sets of numbers', () => {
  fc.assert(
    fc.property(ids, ids, (a, b) => {
      const [x, y, other] = [CpuSet.of(a), CpuSet.of(Int32Array.from(b)), new Set(b)];
      const common = sorted(a.filter((id) => other.has(id)));
      expect(x.toArray()).toEqual(sorted(a));
      expect(x.union(y).toArray()).toEqual(sorted([...a, ...b]));
      expect(x.intersect(y).toArray()).toEqual(common);
      expect(x.minus(y).toArray()).toEqual(sorted(a.filter((id) => !other.has(id))));
      expect([x.size, x.isEmpty, x.first]).toEqual([new Set(a).size, a.length === 0, sorted(a)[0]]);
      expect([x.countIn(y), x.overlaps(y)]).toEqual([common.length, common.length > 0]);
      expect(x.isSubsetOf(y)).toBe(a.every((id) => other.has(id)));
      expect(x.equals(y)).toBe(sorted(a).join() === sorted(b).join());
    }),
    RUNS,
  );
});

test('forEach visits the same CPUs as iteration', () => {
  fc.assert(
    fc.property(ids, (a) => {
      const seen: number[] = [];
      CpuSet.of(a).forEach((id) => seen.push(id));
      expect(seen).toEqual([...CpuSet.of(a)]);
    }),
    RUNS,
  );
});

test('a formatted list is parsed as the same set', () => {
  fc.assert(
    fc.property(ids, (a) => {
      const set = CpuSet.of(a);
      expect(parseCpuList(set.toString()).equals(set)).toBe(true);
      expect(JSON.parse(JSON.stringify({ set }))).toEqual({ set: set.toString() });
    }),
    RUNS,
  );
});

test('operations do not change their operands', () => {
  const [a, b] = [CpuSet.range(0, 40), CpuSet.range(30, 70)];
  a.union(b);
  a.minus(b);
  a.intersect(b);
  expect([a.toString(), b.toString()]).toEqual(['0-40', '30-70']);
});

test.each([
  ['', ''],
  ['  ', ''],
  ['0', '0'],
  ['3,1,2', '1-3'],
  ['0-3, 8 ,10-11\n', '0-3,8,10-11'],
  ['0-0', '0'],
  ['31-32', '31-32'],
  ['1-4,2-6', '1-6'],
  [`${MAX_CPU_ID}`, `${MAX_CPU_ID}`],
])('%j is the list %j', (text, want) => {
  expect(parseCpuList(text).toString()).toBe(want);
});

test.each([
  'a',
  '-1',
  '1-',
  '-',
  '3-1',
  '1,,2',
  ',',
  '1,',
  '0x3',
  '1.5',
  '1 2',
  '0-10:2',
  '+1',
  '٣',
  '1-2-3',
  `${MAX_CPU_ID + 1}`,
  '1e3',
  '99999999999',
])('%j is not a list', (text) => {
  expect(() => parseCpuList(text)).toThrow(/is not a CPU list: /);
});

test.each([-1, 1.5, NaN, MAX_CPU_ID + 1])('%d is not a CPU id', (id) => {
  expect(() => CpuSet.of([id])).toThrow(RangeError);
});

test('a list of millions of ranges is refused before it fills the memory', () => {
  expect(() => parseCpuList(Array(10).fill(`0-${MAX_CPU_ID}`).join())).toThrow(/names too many CPUs/);
});
