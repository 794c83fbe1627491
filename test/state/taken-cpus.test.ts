import fc from 'fast-check';
import { CpuSet, parseCpuList } from '../../src/core/cpuset';
import { takenCpusFormat, type TakenCpus } from '../../src/state';

const { encode, decode } = takenCpusFormat;

test('version 1, as it is on disk', () => {
  const text =
    '{"sealed":true,"version":1,"bootId":"b-1","owed":"3,7","inner":[{"container":"/c","file":"/c/a/cpuset.cpus","own":"1","given":"0"}],"checksum":"sha256:8e49485e27f0c16c377b159c5395bbd0881b59d861de5a3a13ac835401ac1f8e"}\n';
  const inner = [{ container: '/c', file: '/c/a/cpuset.cpus', own: parseCpuList('1'), given: parseCpuList('0') }];
  expect(encode({ bootId: 'b-1', owed: parseCpuList('3,7'), inner })).toBe(text);
  const decoded = decode(text);
  if (!decoded.ok) throw new Error(decoded.because);
  expect(encode(decoded.value)).toBe(text);
  expect(decoded.value.owed.toString()).toBe('3,7');
});

test.each`
  text                                                                                           | want
  ${''}                                                                                          | ${/empty/}
  ${'[]'}                                                                                        | ${/not an object/}
  ${'{"version":2,"bootId":"b","owed":"","inner":[]}'}                                           | ${/has version 2/}
  ${'{"version":1,"owed":"","inner":[]}'}                                                        | ${/"bootId"/}
  ${'{"version":1,"bootId":"b","owed":"x","inner":[]}'}                                          | ${/not of ours/}
  ${'{"version":1,"bootId":"b","owed":"","inner":[1]}'}                                          | ${/not an object/}
  ${'{"version":1,"bootId":"b","owed":"","inner":[{"container":"/c","file":"/c/a","own":"0"}]}'} | ${/"given"/}
`('$text is refused', ({ text, want }: { text: string; want: RegExp }) => {
  const decoded = decode(text);
  expect(decoded.ok ? 'read' : decoded.because).toMatch(want);
});

test('more cgroups than fit are left out', () => {
  const entry = { container: '/c', file: '/c/a', own: CpuSet.of([1]), given: CpuSet.of([0]) };
  const value: TakenCpus = { bootId: 'b', owed: CpuSet.empty, inner: Array.from({ length: 5_000 }, () => entry) };
  const decoded = decode(encode(value));
  expect(decoded.ok && decoded.value.inner.length).toBe(4_000);
});

test('cgroups with long paths never make the file larger than what is read', () => {
  const file = '/c/\u0001'.repeat(1_000);
  const entry = { container: '/c', file, own: CpuSet.of([1]), given: CpuSet.of([0]) };
  const value: TakenCpus = { bootId: 'b', owed: CpuSet.of([3]), inner: Array.from({ length: 3_000 }, () => entry) };
  const text = encode(value);
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(takenCpusFormat.maxBytes);
  const decoded = decode(text);
  expect(decoded.ok && [decoded.value.owed.toString(), decoded.value.inner.length > 100]).toEqual(['3', true]);
});

test('any text is read or refused without an exception', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
      expect(() => decode(text)).not.toThrow();
    }),
    { seed: 1 },
  );
});
