import { decodeQuota, decodeTime, encodeQuota, encodeTime, keyOfValue } from '../../../src/admin/codec/values';

test('a quota is the same after encoding and decoding, and a missing one stays missing', () => {
  expect([decodeQuota(encodeQuota(-1)), decodeQuota(encodeQuota(undefined))]).toEqual([{ quotaUs: -1 }, {}]);
});

test('a time is the same after encoding and decoding; an unreadable one is empty', () => {
  const time = '2026-01-01T00:00:00.500Z';
  expect([time, 'soon', '', undefined].map((text) => decodeTime(encodeTime(text)))).toEqual([time, '', '', '']);
});

test('keyOfValue finds the key of a value, and undefined for an unknown one', () => {
  expect([keyOfValue({ a: 1, b: 2 }, 2), keyOfValue({ a: 1 }, 3), keyOfValue({ a: 1 }, undefined)]).toEqual([
    ...['b', undefined, undefined],
  ]);
});
