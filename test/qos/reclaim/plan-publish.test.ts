import fc from 'fast-check';
import type { QosPod } from '../../../src/qos/objects/objects';
import type { Lendable } from '../../../src/qos/reclaim/lendable';
import { heldBy, planPublish, type PublishInput } from '../../../src/qos/reclaim/plan-publish';
import { MEMORY_STEP_BYTES } from '../../../src/qos/reclaim/should-publish';

const reasons = { because: 'so much is left', lasting: 'left' };
const canLend = (milliCpu: number, bytes = 0): Lendable =>
  ({ cpu: { milliCpu, ...reasons }, memory: { bytes, ...reasons } }) as unknown as Lendable;
const cpuOf = (published: number | undefined, next: number, held: number | undefined, mayGrow: boolean) =>
  planPublish({
    lendable: canLend(next),
    published: published === undefined ? {} : { milliCpu: published },
    held: held === undefined ? {} : { milliCpu: held },
    mayGrow,
  });

test.each`
  name                                                            | published    | next      | held         | mayGrow  | wanted       | because
  ${'enough for what is held'}                                    | ${9_000}     | ${5_500}  | ${2_000}     | ${false} | ${5_000}     | ${'so much is left'}
  ${'less than is held'}                                          | ${9_000}     | ${1_500}  | ${2_000}     | ${false} | ${2_000}     | ${'so much is left; 2 is published, since pods hold it'}
  ${'nothing, and pods hold some'}                                | ${2_000}     | ${0}      | ${2_000}     | ${true}  | ${2_000}     | ${'so much is left; 2 is published, since pods hold it'}
  ${'nothing, and nothing is held'}                               | ${2_000}     | ${0}      | ${0}         | ${true}  | ${0}         | ${'so much is left'}
  ${'pods hold more than is published: at once'}                  | ${2_000}     | ${0}      | ${3_000}     | ${false} | ${3_000}     | ${'so much is left; 3 is published, since pods hold it'}
  ${'the same, where growth up to a tenth is not written'}        | ${20_000}    | ${20_000} | ${21_000}    | ${false} | ${21_000}    | ${'so much is left; 21 is published, since pods hold it'}
  ${'growth waits for a measurement, but not what is held'}       | ${2_000}     | ${9_000}  | ${3_000}     | ${false} | ${3_000}     | ${'so much is left'}
  ${'growth with a measurement'}                                  | ${2_000}     | ${9_000}  | ${3_000}     | ${true}  | ${9_000}     | ${'so much is left'}
  ${'not on the Node, with pods that ran before'}                 | ${undefined} | ${1_000}  | ${3_000}     | ${true}  | ${3_000}     | ${'so much is left; 3 is published, since pods hold it'}
  ${'the pods are not known: not lowered'}                        | ${9_000}     | ${5_000}  | ${undefined} | ${true}  | ${9_000}     | ${'so much is left; 9 stays published until the pods of this node are known'}
  ${'the pods are not known: it may grow'}                        | ${2_000}     | ${5_000}  | ${undefined} | ${true}  | ${5_000}     | ${'so much is left'}
  ${'the pods are not known: what is not there is not put there'} | ${undefined} | ${5_000}  | ${undefined} | ${true}  | ${undefined} | ${'so much is left; nothing is published before the pods of this node are known'}
`('$name', ({ published, next, held, mayGrow, wanted, because }) => {
  const plan = cpuOf(published as number | undefined, next as number, held as number | undefined, mayGrow as boolean);
  expect(plan.wanted.milliCpu).toBe(wanted);
  expect(plan.cpu?.because).toBe(because);
});

test('memory is held to the byte, and is published in whole steps else', () => {
  const memoryOf = (bytes: number, held: number) =>
    planPublish({ lendable: canLend(0, bytes), published: {}, held: { memoryBytes: held }, mayGrow: true });
  expect(memoryOf(10, 5 * MEMORY_STEP_BYTES + 1)).toMatchObject({
    wanted: { memoryBytes: 5 * MEMORY_STEP_BYTES + 1 },
    memory: { because: 'so much is left; 0.31 GiB is published, since pods hold it' },
  });
  expect(memoryOf(2 * MEMORY_STEP_BYTES + 10, MEMORY_STEP_BYTES).wanted.memoryBytes).toBe(2 * MEMORY_STEP_BYTES);
});

test('a resource that is not decided stays as it is, but not below what is held', () => {
  const plan = (published: PublishInput['published']) =>
    planPublish({ lendable: {}, published, held: { milliCpu: 3_000, memoryBytes: 7 }, mayGrow: true });
  expect(plan({})).toEqual({ wanted: {} });
  expect(plan({ milliCpu: 4_000 })).toEqual({ wanted: { milliCpu: 4_000 } });
  expect(plan({ milliCpu: 1_000, memoryBytes: 3 })).toEqual({ wanted: { milliCpu: 3_000, memoryBytes: 7 } });
});

const cpus = fc.nat(64).map((count) => 1000 * count);

test('over random histories: never less than pods hold, never more than can be lent or is held, and nothing is lowered without the pods', () => {
  const step = fc.record({
    next: fc.nat(64_000),
    held: fc.option(cpus, { nil: undefined, freq: 4 }),
    mayGrow: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.option(cpus, { nil: undefined }), fc.array(step, { maxLength: 50 }), (first, steps) => {
      let published = first;
      for (const { next, held, mayGrow } of steps) {
        const { milliCpu } = cpuOf(published, next, held, mayGrow).wanted;
        if (held === undefined && published === undefined) expect(milliCpu).toBeUndefined();
        else if (held === undefined) expect(milliCpu).toBeGreaterThanOrEqual(published!);
        else {
          expect(milliCpu).toBeGreaterThanOrEqual(held);
          expect(milliCpu).toBeLessThanOrEqual(Math.max(next, held));
        }
        published = milliCpu;
      }
    }),
  );
});

const MAX_AMOUNT = Number.MAX_SAFE_INTEGER;
const pod = (phase: string, heldMilliCpu?: number, heldMemoryBytes?: number): QosPod =>
  ({ phase, heldMilliCpu, heldMemoryBytes }) as unknown as QosPod;

test('pods that have not ended hold what they request; CPUs are rounded up', () => {
  expect(heldBy([], {})).toEqual({ milliCpu: 0, memoryBytes: 0 });
  const pods = [pod('Running', 1_000, 10), pod('Pending', 1_500), pod('Succeeded', 4_000, 5), pod('Failed', 8_000)];
  expect(heldBy([...pods, pod('Unknown', undefined, 3)], {})).toEqual({ milliCpu: 3_000, memoryBytes: 13 });
});

test.each<[string, PublishInput['published'], number, number, object]>([
  ['no more than is lent', { milliCpu: 4_000 }, 1_000, MAX_AMOUNT, { milliCpu: 4_000 }],
  ['what they request, if it is less', { milliCpu: 4_000 }, 1_000, 1_000, { milliCpu: 3_000 }],
  ['nothing where nothing is lent', {}, 1_000, MAX_AMOUNT, { milliCpu: 1_000 }],
  ['nothing beside running pods that hold all of it', { milliCpu: 2_000 }, 2_000, 1_000, { milliCpu: 2_000 }],
])('pods that the kubelet has not taken yet hold %s', (_name, lent, running, waiting, want) => {
  const waits = { ...pod('Pending', waiting), awaitsKubelet: true as const };
  expect(heldBy([pod('Running', running), waits, waits], lent)).toMatchObject(want);
});

test('what pods hold is an amount, however much they request', () => {
  const most = pod('Running', MAX_AMOUNT, MAX_AMOUNT);
  expect(heldBy([most, most], {})).toEqual({ milliCpu: 9_007_199_254_740_000, memoryBytes: MAX_AMOUNT });
});
