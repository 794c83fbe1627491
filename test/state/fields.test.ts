import { Fields, readEntry, ShapeError } from '../../src/state/fields';

test('fields of the right type are read', () => {
  const fields = new Fields(
    { text: 'a', none: null, texts: ['b'], count: 1.5, flag: false, cpus: '0-1', list: [1], inner: { x: 'y' } },
    'the entry',
  );
  expect({
    text: fields.text('text'),
    none: fields.textOrNull('none'),
    texts: fields.texts('texts'),
    count: fields.count('count'),
    flag: fields.flag('flag'),
    cpus: fields.cpuSet('cpus').toString(),
    list: fields.list('list'),
    inner: fields.fields('inner').allTexts(),
    has: [fields.has('text'), fields.has('other')],
  }).toEqual({
    text: 'a',
    none: null,
    texts: ['b'],
    count: 1.5,
    flag: false,
    cpus: '0-1',
    list: [1],
    inner: { x: 'y' },
    has: [true, false],
  });
});

test.each<[string, (fields: Fields) => unknown, string]>([
  ['a missing text', (fields) => fields.text('none'), '"none" is not a text'],
  ['a property of every object as text', (fields) => fields.text('toString'), '"toString" is not a text'],
  ['a number as text', (fields) => fields.text('number'), '"number" is not a text'],
  ['a list with a number as texts', (fields) => fields.texts('mixed'), '"mixed" is not a list of texts'],
  ['a negative number as count', (fields) => fields.count('negative'), '"negative" is not a number of CPUs'],
  ['a text as flag', (fields) => fields.flag('text'), '"text" is neither true nor false'],
  ['an object as list', (fields) => fields.list('object'), '"object" is not a list'],
  ['a list as object', (fields) => fields.fields('mixed'), '"mixed" is not an object'],
])('%s is an error that names the field', (_name, read, message) => {
  const fields = new Fields({ number: 1, mixed: ['a', 1], negative: -1, text: 'true', object: {} }, 'the entry');
  expect(() => read(fields)).toThrow(new ShapeError(message));
});

test('the count -0 is 0', () => {
  expect(Object.is(new Fields({ n: -0 }, 'x').count('n'), 0)).toBe(true);
});

test('readEntry drops an entry of the wrong shape, and throws any other error', () => {
  expect(readEntry({ a: 'x' }, (fields) => fields.text('a'))).toBe('x');
  expect(readEntry({ a: 1 }, (fields) => fields.text('a'))).toBeUndefined();
  expect(readEntry(null, (fields) => fields.text('a'))).toBeUndefined();
  const fail = (): never => {
    throw new TypeError('an internal fault');
  };
  expect(() => readEntry({}, fail)).toThrow(TypeError);
});
