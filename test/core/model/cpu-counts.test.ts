import { parseCpuList } from '../../../src/core/cpuset';
import { CpuCounts } from '../../../src/core/model/cpu-counts';

function countsOf(...lists: string[]): CpuCounts {
  const counts = new CpuCounts();
  for (const list of lists) counts.change(parseCpuList(list), 1);
  return counts;
}

test('a CPU with two holders is held until both are gone', () => {
  const counts = countsOf('1-2', '2-3');
  expect([counts.of(1), counts.of(2), counts.of(4)]).toEqual([1, 2, 0]);
  counts.change(parseCpuList('1-2'), -1);
  expect(counts.cpus.toString()).toBe('2-3');
  counts.change(parseCpuList('2-3'), -1);
  expect(counts.cpus.isEmpty).toBe(true);
});

test('without one holder only the CPUs that it shares with another are left', () => {
  const counts = countsOf('1-2', '2-3');
  expect(counts.without(parseCpuList('1-2')).toString()).toBe('2-3');
  expect(counts.cpus.toString()).toBe('1-3');
});
