import { parseBoolean } from '../../../src/core/options/problem';

test.each(['1', 't', 'T', 'true', 'TRUE', 'True'])('%j is true', (text) => {
  expect(parseBoolean(text)).toBe(true);
});

test.each(['0', 'f', 'F', 'false', 'FALSE', 'False'])('%j is false', (text) => {
  expect(parseBoolean(text)).toBe(false);
});

test.each(['', 'yes', 'tRUE', ' true', '2'])('%j is no boolean', (text) => {
  expect(parseBoolean(text)).toBeUndefined();
});
