import { BackOff, backOffMs } from '../../src/net/back-off';

const LIMITS = { leastMs: 100, mostMs: 3_000 };

function delays(backOff: BackOff, count: number): number[] {
  return Array.from({ length: count }, () => backOff.next());
}

test.each`
  name                         | limits                | expected
  ${'doubles up to the limit'} | ${{}}                 | ${[100, 200, 400, 800, 1600, 3000, 3000]}
  ${'grows by another factor'} | ${{ factor: 1.6 }}    | ${[100, 160, 256, 410, 655, 1049, 1678]}
  ${'begins at the limit'}     | ${{ leastMs: 3_000 }} | ${[3000, 3000, 3000, 3000, 3000, 3000, 3000]}
`('without jitter a delay $name', ({ limits, expected }: { limits: object; expected: number[] }) => {
  expect(delays(new BackOff({ ...LIMITS, jitter: 0, ...limits }), 7)).toEqual(expected);
});

test('after a reset the first delay comes again', () => {
  const backOff = new BackOff({ ...LIMITS, jitter: 0 });
  delays(backOff, 3);
  backOff.reset();
  expect(delays(backOff, 2)).toEqual([100, 200]);
});

test('a server that asks for a longer delay gets it, and a shorter one changes nothing', () => {
  const backOff = new BackOff({ ...LIMITS, jitter: 0 });
  expect([backOff.next(5_000), backOff.next(5)]).toEqual([5_000, 200]);
});

test('with jitter a delay stays within a quarter of the plain one, on both sides of it', () => {
  const seen = Array.from({ length: 1_000 }, () => backOffMs(2, LIMITS));
  expect(Math.min(...seen)).toBeGreaterThanOrEqual(300);
  expect(Math.max(...seen)).toBeLessThanOrEqual(500);
  expect(Math.min(...seen)).toBeLessThan(390);
  expect(Math.max(...seen)).toBeGreaterThan(410);
});

test('a million failures do not make the delay infinite', () => {
  expect(backOffMs(1_000_000, { ...LIMITS, jitter: 0 })).toBe(3_000);
  expect(backOffMs(1_000_000, { leastMs: 0, mostMs: 3_000 })).toBe(0);
});
