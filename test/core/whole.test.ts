import { whole } from '../../src/core/whole';

interface Part {
  readonly size: number;
  readonly unit?: 'Mi' | 'Gi';
}

interface Thing {
  readonly name: string;
  readonly note?: string;
  readonly parts: readonly Part[];
}

/** None of these is in the types of the calls below by its value alone. */
const note = ['n'].at(0);
const part: Part = { size: 1, unit: 'Mi' };

test('a value with all fields is returned as it is, those that may be absent left out at run time or not', () => {
  const value = { name: 'a', parts: [part], ...(note !== undefined && { note }) };
  expect(whole<Thing>()(value)).toBe(value);
});

test('what is not whole does not compile', () => {
  const thing = whole<Thing>();
  // @ts-expect-error a field that may be absent is left out
  thing({ name: 'a', parts: [part] });
  const { unit: _unit, ...rest } = part;
  // @ts-expect-error a field of a part is left out
  thing({ name: 'a', parts: [rest], ...(note !== undefined && { note }) });
  // @ts-expect-error a field is one too many
  thing({ name: 'a', parts: [part], ...(note !== undefined && { note }), size: 1 });
  // @ts-expect-error a field has another type
  thing({ name: 1, parts: [part], ...(note !== undefined && { note }) });
  // @ts-expect-error a value of a field is missing
  thing({ name: 'a', parts: [{ size: 1, unit: 'Mi' as const }], ...(note !== undefined && { note }) });
  expect(rest).toEqual({ size: 1 });
});
