import { InvalidArgumentError } from 'commander';
import { parseKinds, parseTime } from '../../../src/cli/events/parse-filter';

const NOW = Date.parse('2026-11-24T10:00:00Z');
beforeEach(() => jest.useFakeTimers({ now: NOW }));
afterEach(() => jest.useRealTimers());

test.each([
  ['10m', '2026-11-24T09:50:00.000Z'],
  ['24h', '2026-11-23T10:00:00.000Z'],
  ['2026-11-24', '2026-11-24T00:00:00.000Z'],
  ['2026-11-24T10:00:06Z', '2026-11-24T10:00:06.000Z'],
  ['2026-11-24T11:00:08.5+01:00', '2026-11-24T10:00:08.500Z'],
])('the time %s is %s', (text, time) => {
  expect(new Date(parseTime(text)).toISOString()).toBe(time);
});

test.each([
  '',
  'yesterday',
  '10',
  '-5m',
  '0s',
  '2026-13-01',
  '2026-11-24T10:00:00',
  '2026-11-24 10:00:00Z',
  '24.11.2026',
])('the time "%s" is none, and the message has examples', (text) => {
  expect(() => parseTime(text)).toThrow(InvalidArgumentError);
  expect(() => parseTime(text)).toThrow(/It is no time; write a duration like 10m or 24h, a time like 2026-/);
});

test('kinds are separated by commas, with or without spaces', () => {
  expect(parseKinds('pinned')).toEqual(new Set(['pinned']));
  expect(parseKinds('pinned, refused,pinned')).toEqual(new Set(['pinned', 'refused']));
});

test.each(['', 'pined', 'pinned,', 'pinned refused', 'Pinned'])(
  'the kinds "%s" are none, and the message lists those that there are',
  (text) => {
    expect(() => parseKinds(text)).toThrow(InvalidArgumentError);
    expect(() => parseKinds(text)).toThrow(/There is no such kind; choose from pinned, switched/);
  },
);

test('a time of day is the last one, in UTC', () => {
  const now = Date.now();
  const day = new Date(now).toISOString().slice(0, 10);
  const midnight = Date.parse(`${day}T00:00:00Z`);
  expect(parseTime('00:00')).toBe(midnight);
  const last = parseTime('23:59:59');
  expect(last).toBeLessThanOrEqual(now);
  expect(now - last).toBeLessThan(24 * 3_600_000);
  expect(() => parseTime('25:00')).toThrow(InvalidArgumentError);
});
