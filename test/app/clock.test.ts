import fc from 'fast-check';
import { createClock } from '../../src/app/clock';

test('is the time that a Date has, also when the clock is set back or forward', () => {
  const anyMs = fc.oneof(fc.nat(5000), fc.integer({ min: 0, max: 8_640_000_000_000_000 }));
  fc.assert(
    fc.property(fc.array(anyMs), (times) => {
      let nowMs = 0;
      const now = createClock(() => nowMs);
      for (nowMs of times) expect(now()).toBe(new Date(nowMs).toISOString());
    }),
  );
});
