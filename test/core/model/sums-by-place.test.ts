import type { Container } from '../../../src/core/model/container';
import { SumsByPlace } from '../../../src/core/model/sums-by-place';

/** A container that asks for so many bytes at the place that its pod is named after. */
const containerAt = (podUid: string, memoryLimitBytes: number) =>
  ({ podUid, resources: { memoryLimitBytes } }) as Container;

const sumsWith = (...containers: readonly Container[]) => {
  const sums = new SumsByPlace(({ podUid, resources }: Container) =>
    podUid === '' ? [] : [{ key: podUid, place: podUid, bytes: resources.memoryLimitBytes! }],
  );
  for (const container of containers) sums.follow(undefined, container);
  return sums;
};

test('as many containers as there are make one sum where they share a place, and none where they have no place', () => {
  const many = Array.from({ length: 1_000 }, () => [containerAt('here', 2), containerAt('', 2)]).flat();
  expect(sumsWith(...many).without()).toEqual([{ key: 'here', place: 'here', bytes: 2_000 }]);
});

test('a container that is left out, moves or ends does not count where it was', () => {
  const [first, second] = [containerAt('here', 3), containerAt('here', 4)];
  const sums = sumsWith(first, second);
  expect(sums.without([first, second])).toMatchObject([{ bytes: 0 }]);
  sums.follow(first, containerAt('there', 3));
  expect(sums.without([second])).toMatchObject([
    { place: 'here', bytes: 0 },
    { place: 'there', bytes: 3 },
  ]);
  sums.follow(second, undefined);
  expect(sums.without()).toEqual([{ key: 'there', place: 'there', bytes: 3 }]);
});
