import { oncePer } from '../../src/core/once-per';

test('given the same object, then the value is made once, also when it is undefined', () => {
  const make = jest.fn((_from: object): string | undefined => undefined);
  const read = oncePer(make);
  const from = {};
  expect([read(from), read(from)]).toEqual([undefined, undefined]);
  expect(make).toHaveBeenCalledTimes(1);
});

test('given an equal object, then its value is made again', () => {
  const read = oncePer(({ id }: { id: number }) => ({ id }));
  expect(read({ id: 1 })).not.toBe(read({ id: 1 }));
});

test('given other objects in between, then the value of the first is still the same', () => {
  const read = oncePer(({ id }: { id: number }) => ({ id }));
  const [first, second] = [{ id: 1 }, { id: 2 }];
  const values = [read(first), read(second), read(first), read(second)];
  expect(values[2]).toBe(values[0]);
  expect(values[3]).toBe(values[1]);
  expect(values).toEqual([first, second, first, second]);
});
