import fc from 'fast-check';
import type { Lendable } from '../../../src/qos/reclaim/lendable';
import { MEMORY_STEP_BYTES, shouldPublish, toPublished } from '../../../src/qos/reclaim/should-publish';

test.each`
  name                            | published    | next   | kind
  ${'not there'}                  | ${undefined} | ${0}   | ${'new'}
  ${'not there, some to lend'}    | ${undefined} | ${8}   | ${'new'}
  ${'nothing, and still nothing'} | ${0}         | ${0}   | ${'keep'}
  ${'nothing, now one'}           | ${0}         | ${1}   | ${'grow'}
  ${'the same'}                   | ${10}        | ${10}  | ${'keep'}
  ${'more by a tenth'}            | ${10}        | ${11}  | ${'keep'}
  ${'more by more than a tenth'}  | ${10}        | ${12}  | ${'grow'}
  ${'less by one of many'}        | ${1000}      | ${999} | ${'shrink'}
  ${'nothing any more'}           | ${10}        | ${0}   | ${'shrink'}
  ${'a negative one of somebody'} | ${-1}        | ${0}   | ${'grow'}
`('$name: $published, then $next: $kind', ({ published, next, kind }) => {
  expect(shouldPublish(published, next).kind).toBe(kind);
});

const lent = (milliCpu: number, bytes: number) =>
  ({ cpu: { milliCpu }, memory: { bytes } }) as unknown as Required<Lendable>;

test('whole CPUs and whole steps of memory are published, rounded down', () => {
  expect(toPublished(lent(7_999, 3 * MEMORY_STEP_BYTES - 1))).toEqual({
    milliCpu: 7_000,
    memoryBytes: 2 * MEMORY_STEP_BYTES,
  });
  expect(toPublished({})).toEqual({});
});

test('over random histories: never more is published than can be lent, and at most a step or a tenth is kept back', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(64_000), { minLength: 1, maxLength: 50 }), (history) => {
      let published: number | undefined;
      for (const milliCpu of history) {
        const { milliCpu: next = 0 } = toPublished(lent(milliCpu, 0));
        if (shouldPublish(published, next).kind !== 'keep') published = next;
        expect(published!).toBeLessThanOrEqual(milliCpu);
        expect(next - published!).toBeLessThanOrEqual(0.1 * published!);
      }
    }),
  );
});
