import fc from 'fast-check';
import { withhold } from '../../../src/core/node-resources/withhold';

test.each<[string, number[], number, number | undefined, number[]]>([
  ['no excess withholds nothing', [3, 4], 0, undefined, [3, 4]],
  ['a negative excess withholds nothing', [3, 4], -2, undefined, [3, 4]],
  ['the zone with the fewest CPUs gives first', [3, 4], 2, undefined, [1, 4]],
  ['the next zone gives the rest', [3, 4], 5, undefined, [0, 2]],
  ['of equal zones the last gives first', [4, 4], 1, undefined, [4, 3]],
  ['an excess above all CPUs leaves none', [3, 4], 9, undefined, [0, 0]],
  ['in whole cores', [4, 8], 1, 2, [2, 8]],
  ['in whole cores over two zones', [2, 8], 3, 2, [0, 6]],
  ['a zone that gives nothing is not rounded', [3, 5], 3, 2, [0, 5]],
])('%s', (_name, rooms, excess, unit, left) => {
  expect(withhold(rooms, excess, unit)).toEqual(left);
});

const zones = fc.array(fc.nat(6), { minLength: 1, maxLength: 4 });

test('no zone offers more than it has, all zones no more than the node, and a single request that fits is met', () => {
  fc.assert(
    fc.property(zones, fc.nat(8), (rooms, excess) => {
      const left = withhold(rooms, excess);
      const total = sum(rooms) - Math.min(excess, sum(rooms));
      expect(sum(left)).toBe(total);
      left.forEach((room, i) => expect(room).toBeLessThanOrEqual(rooms[i]!));
      expect(Math.max(...left)).toBe(Math.max(...rooms.map((room) => Math.min(room, total))));
    }),
  );
});

test('requests that fit the remaining zones are met: the node takes the first zone with room', () => {
  const request = fc.record({ rooms: zones, excess: fc.nat(4), wishes: fc.array(fc.integer({ min: 1, max: 6 })) });
  fc.assert(
    fc.property(request, ({ rooms, excess, wishes }) => {
      const seen = withhold(rooms, excess);
      const there = [...rooms];
      let spare = Math.max(0, sum(rooms) - excess);
      for (const count of wishes) {
        const chosen = seen.findIndex((room) => room >= count);
        if (chosen < 0) continue;
        seen[chosen]! -= count;
        const given = there.findIndex((room) => room >= count);
        expect(given).not.toBe(-1);
        there[given]! -= count;
        spare -= count;
        expect(spare).toBeGreaterThanOrEqual(0);
      }
    }),
    { numRuns: 2_000 },
  );
});

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
