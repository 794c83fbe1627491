import fc from 'fast-check';
import { NumberList } from '../../../src/scheduling/extender/number-list';

const read = (list: NumberList): number[] => Array.from({ length: list.length }, (_, i) => list.at(i));

test('given any pushes, clears and copies: a list is what an array is', () => {
  const steps = fc.array(
    fc.oneof(
      { weight: 8, arbitrary: fc.record({ kind: fc.constant('push' as const), of: fc.nat(1), value: fc.nat(65_535) }) },
      fc.record({ kind: fc.constantFrom('clear' as const, 'copy' as const), of: fc.nat(1) }),
    ),
    { maxLength: 300 },
  );
  fc.assert(
    fc.property(steps, (all) => {
      const lists = [new NumberList(Uint16Array), new NumberList(Uint16Array)] as const;
      const arrays: number[][] = [[], []];
      for (const step of all) {
        const [list, array] = [lists[step.of]!, arrays[step.of]!];
        if (step.kind === 'push') list.push(array[array.push(step.value) - 1]!);
        else if (step.kind === 'clear') {
          list.clear();
          array.length = 0;
        } else {
          list.copy(lists[1 - step.of]!);
          arrays[step.of] = [...arrays[1 - step.of]!];
        }
        expect(lists.map(read)).toEqual(arrays);
      }
    }),
    { numRuns: 50 },
  );
});

test('given a place beyond the end: 0, also where a number was before', () => {
  const list = new NumberList(Uint32Array);
  list.push(7);
  list.clear();
  expect(list.at(0)).toBe(0);
});
