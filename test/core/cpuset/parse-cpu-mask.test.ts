import fc from 'fast-check';
import { CpuListError, CpuSet, formatCpuMask, parseCpuMask } from '../../../src/core/cpuset';

test.each(['', 'g', '0x1', '123456789', '1,,2'])('%j is no mask', (text) => {
  expect(() => parseCpuMask(text)).toThrow(CpuListError);
});

test('masks of the kernel', () => {
  expect(parseCpuMask('ff').toString()).toBe('0-7');
  expect(parseCpuMask('00000001,80000000').toString()).toBe('31-32');
  const ids = fc.uniqueArray(fc.integer({ min: 0, max: 300 }), { minLength: 1 });
  fc.assert(
    fc.property(ids, (list) => {
      const set = CpuSet.of(list);
      expect(parseCpuMask(formatCpuMask(set)).toString()).toBe(set.toString());
    }),
  );
});
