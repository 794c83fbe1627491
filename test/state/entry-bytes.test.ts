import fc from 'fast-check';
import { EntryBytes } from '../../src/state/entry-bytes';
import { createStateEncoder, encodeState } from '../../src/state/model';
import { leastCpuMs } from '../support/cpu-time';
import { specOf } from '../support/spec-of';
import { assignmentOf } from './support/assignments';

interface Entry {
  readonly text: string;
}

/** Entries that come again as the same object, in lists that have much in common, and some in which nothing is where it was. */
const POOL: readonly Entry[] = ['a', 'bb', '', 'ä€', '💥💥', 'x'.repeat(300), '"', ',\n'].map((text) => ({ text }));
const lists = fc.array(
  fc.oneof(
    fc.uniqueArray(fc.constantFrom(...POOL), { maxLength: 8 }),
    fc.subarray([...POOL]),
    fc.array(fc.constantFrom(...POOL), { maxLength: 12 }),
  ),
  { maxLength: 8 },
);
const ends = fc.constantFrom('', '[', '[ä', '[long head ');

test('a list is the texts of its entries between head and tail, whatever list was there before', () => {
  fc.assert(
    fc.property(lists, ends, ends, (all, head, tail) => {
      const bytes = new EntryBytes<Entry>(({ text }) => text, [',', ',\n'], 16);
      for (const list of all) {
        bytes.set(list);
        const texts = list.map(({ text }) => text);
        for (const [layout, separator] of [',', ',\n'].entries())
          expect(Buffer.from(bytes.frame(layout, head, tail)).toString()).toBe(head + texts.join(separator) + tail);
      }
    }),
    { seed: 20_261_122, numRuns: 500 },
  );
});

test('after a fault in the text of an entry the next list is whole', () => {
  let isBroken = false;
  const bytes = new EntryBytes<Entry>(
    ({ text }) => {
      if (isBroken) throw new Error('a fault of our own');
      return text;
    },
    [','],
    16,
  );
  bytes.set(POOL.slice(0, 4));
  isBroken = true;
  expect(() => bytes.set(POOL)).toThrow('a fault of our own');
  isBroken = false;
  bytes.set(POOL);
  expect(Buffer.from(bytes.frame(0, '[', ']')).toString()).toBe(`[${POOL.map(({ text }) => text).join()}]`);
});

const pod = specOf('p', 'web 2');

test('a document that follows others has the same bytes as one that is encoded alone', () => {
  const made = Array.from({ length: 300 }, (_, i) => assignmentOf('c', `${i}`, { podUid: `pod-${i}-ä` }));
  const change = fc.record({ at: fc.nat(299), count: fc.constantFrom(0, 1, 2, 70, 299), isWhole: fc.boolean() });
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 6 }), fc.boolean(), (changes, hasPods) => {
      const encode = createStateEncoder('1.0.0');
      let generation = 0;
      for (const { at, count, isWhole } of changes) {
        const assignments = isWhole ? made : made.filter((_, i) => i < at || i >= at + count);
        const state = { generation: ++generation, assignments, ...(hasPods && { pods: [pod, pod] }) };
        const bytes = encode(state);
        expect(Buffer.from(bytes).toString()).toBe(encodeState({ writtenBy: '1.0.0', ...state }));
      }
    }),
    { seed: 20_261_122, numRuns: 100 },
  );
});

test('one new assignment among thousands costs far less than all of them', () => {
  const assignments = Array.from({ length: 4_000 }, (_, i) => assignmentOf('c', `${i}`, { podUid: `pod-${i}` }));
  const encode = createStateEncoder('1.0.0');
  let generation = 0;
  const encodeOne = (): void => {
    assignments[2_000] = { ...assignments[2_000]! };
    encode({ generation: ++generation, assignments });
  };
  const encodeAll = (): void => {
    createStateEncoder('1.0.0')({ generation: ++generation, assignments: assignments.map((each) => ({ ...each })) });
  };
  encodeOne();
  expect(leastCpuMs(encodeOne)).toBeLessThan(leastCpuMs(encodeAll) / 2);
});
