import { createRetryDelays } from '../../src/nri/serve-nri';

/** The delays between connections of these durations. */
function waitsAfter(lastedMs: readonly number[]): number[] {
  return lastedMs.map(createRetryDelays());
}

test.each`
  name                                                        | lasted                   | waits
  ${'the first delay is short, also after a long connection'} | ${[60_000]}              | ${[100]}
  ${'delays double, up to three seconds'}                     | ${[0, 0, 0, 0, 0, 0, 0]} | ${[100, 200, 400, 800, 1600, 3000, 3000]}
  ${'a connection of 10 s resets the delay'}                  | ${[0, 0, 0, 10_000, 0]}  | ${[100, 200, 400, 100, 200]}
  ${'a shorter connection does not reset the delay'}          | ${[0, 0, 9_999, 0]}      | ${[100, 200, 400, 800]}
`('$name', ({ lasted, waits }: { lasted: number[]; waits: number[] }) => {
  expect(waitsAfter(lasted)).toEqual(waits);
});
