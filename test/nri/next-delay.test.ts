import { createRetryDelays } from '../../src/nri/serve-nri';

/** The delays between connections of these durations. */
function waitsAfter(lastedMs: readonly number[]): number[] {
  return lastedMs.map(createRetryDelays());
}

test.each`
  name                                                   | lasted                   | waits
  ${'begins quickly, also when the first was good'}      | ${[60_000]}              | ${[100]}
  ${'doubles, up to three seconds'}                      | ${[0, 0, 0, 0, 0, 0, 0]} | ${[100, 200, 400, 800, 1600, 3000, 3000]}
  ${'a session that held is the end of the old trouble'} | ${[0, 0, 0, 10_000, 0]}  | ${[100, 200, 400, 100, 200]}
  ${'one that broke before that is more of the same'}    | ${[0, 0, 9_999, 0]}      | ${[100, 200, 400, 800]}
`('$name', ({ lasted, waits }: { lasted: number[]; waits: number[] }) => {
  expect(waitsAfter(lasted)).toEqual(waits);
});
