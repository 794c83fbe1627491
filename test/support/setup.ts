// Runs in front of every test file; tests close what they open.
import { slowness } from './wait-until';

// The deadline of a test ends those that hang. On a busy machine the same work takes many times as long.
jest.setTimeout(300_000 * slowness());

/** Undefined: this one has nothing to say. The types of Jest lack it. */
type EqualityTester = (received: unknown, expected: unknown) => boolean | undefined;
const jestExpect = expect as unknown as { addEqualityTesters(testers: readonly EqualityTester[]): void };

// `toMatchObject` takes a regular expression for equal to every text: it has no properties of its own that could
// differ.
jestExpect.addEqualityTesters([
  (received, expected) => (expected instanceof RegExp && !(received instanceof RegExp) ? false : undefined),
]);
