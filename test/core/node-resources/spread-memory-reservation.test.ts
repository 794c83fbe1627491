import { spreadMemoryReservation } from '../../../src/core/node-resources/spread-memory-reservation';
import { createRandom } from '../../support/random';

test.each<[string, [number, number][], number, [number, number][]]>([
  [
    'it fits on the first node',
    [
      [0, 8],
      [1, 8],
    ],
    3,
    [
      [0, 3],
      [1, 0],
    ],
  ],
  [
    'an amount beyond the first node goes on to the next',
    [
      [0, 2],
      [1, 8],
      [2, 8],
    ],
    5,
    [
      [0, 2],
      [1, 3],
      [2, 0],
    ],
  ],
  [
    'it fills several nodes',
    [
      [0, 2],
      [1, 2],
      [2, 8],
    ],
    5,
    [
      [0, 2],
      [1, 2],
      [2, 1],
    ],
  ],
  [
    'a node without memory is skipped',
    [
      [0, 0],
      [1, 8],
    ],
    3,
    [
      [0, 0],
      [1, 3],
    ],
  ],
  [
    'more than all memory takes all of it',
    [
      [0, 2],
      [1, 2],
    ],
    9,
    [
      [0, 2],
      [1, 2],
    ],
  ],
  ['nothing is reserved', [[0, 2]], 0, [[0, 0]]],
  [
    'the lowest id is first, whatever the order of the map',
    [
      [2, 8],
      [0, 2],
    ],
    5,
    [
      [0, 2],
      [2, 3],
    ],
  ],
  ['no nodes', [], 5, []],
])('%s', (_name, memory, reserved, want) => {
  expect([...spreadMemoryReservation(new Map(memory), reserved)]).toEqual(want);
});

test('the shares add up to the reservation or to all memory, and none is larger than its node', () => {
  const random = createRandom(7);
  for (let round = 0; round < 500; round++) {
    const memory = new Map(Array.from({ length: random.int(0, 8) }, (_, id) => [id, random.int(0, 99)] as const));
    const all = [...memory.values()].reduce((sum, bytes) => sum + bytes, 0);
    const reserved = random.int(0, 299);
    const shares = spreadMemoryReservation(memory, reserved);
    expect([...shares.values()].reduce((sum, bytes) => sum + bytes, 0)).toBe(Math.min(all, reserved));
    for (const [id, share] of shares) {
      expect(share).toBeGreaterThanOrEqual(0);
      expect(share).toBeLessThanOrEqual(memory.get(id)!);
    }
  }
});
