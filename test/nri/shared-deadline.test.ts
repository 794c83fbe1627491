import { SharedDeadline } from '../../src/nri/nri-session';

test('the pieces of one Synchronize share the deadline of the first', () => {
  const deadline = new SharedDeadline();
  deadline.add(1000, 2000);
  deadline.add(2500, 600);
  expect(deadline.isPast(2999)).toBe(false);
  expect(deadline.isPast(3000)).toBe(true);
});
