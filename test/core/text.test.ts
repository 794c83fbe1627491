import { CpuSet } from '../../src/core/cpuset';
import { formatCpuShare, formatMemory, formatPercent, formatQuota, partWithVerb, plural } from '../../src/core/text';
import { refuseForLack, refuseSplitCores } from '../../src/core/policy/refusals';
import { createRoom } from '../../src/core/policy/room';
import { snapshotFor } from '../../src/core/decision/snapshot';
import { NO_OPTIONS } from '../../src/core/model/settings';
import { NodeDriver } from './transition/node-driver';

test.each`
  count  | want
  ${0}   | ${'0 CPUs'}
  ${1}   | ${'1 CPU'}
  ${2}   | ${'2 CPUs'}
  ${0.5} | ${'0.5 CPUs'}
`('$want', ({ count, want }) => {
  expect(plural(Number(count), 'CPU')).toBe(want);
});

test.each([
  [formatCpuShare(0), '0 CPUs'],
  [formatCpuShare(1_000), '1 CPU'],
  [formatCpuShare(750.6), '0.751 CPUs'],
  [formatCpuShare(12_500), '12.5 CPUs'],
  [formatPercent(0), '0 %'],
  [formatPercent(37.46), '37.5 %'],
  [formatPercent(100), '100 %'],
  [formatMemory(0), '0 MiB'],
  [formatMemory(2 ** 30 - 2 ** 20), '1023 MiB'],
  [formatMemory(2 ** 30), '1 GiB'],
  [formatMemory(1.55 * 2 ** 30), '1.6 GiB'],
  [formatQuota(150_000, 100_000), '1.5 CPUs'],
  [formatQuota(-1, 100_000), 'no limit'],
  [formatQuota(1_000, 0), 'no limit'],
])('a figure is shown as %s', (shown, want) => {
  expect(shown).toBe(want);
});

test('another plural than with an s, and a verb', () => {
  expect([1, 2].map((count) => plural(count, 'CPU is', 'CPUs are'))).toEqual(['1 CPU is', '2 CPUs are']);
});

test.each([
  [0, 0, '0 of 0 CPUs are'],
  [0, 1, '0 of 1 CPU is'],
  [1, 1, '1 of 1 CPU is'],
  [0, 2, '0 of 2 CPUs are'],
  [1, 2, '1 of 2 CPUs is'],
  [2, 2, '2 of 2 CPUs are'],
])('%d of a whole of %d: the verb goes with the part, and with a whole of one', (part, whole, want) => {
  expect(partWithVerb(part, whole, 'CPU')).toBe(want);
});

test('a refusal of one CPU reads as one', () => {
  const snapshot = snapshotFor(new NodeDriver().run('make p/a 6').model, { uid: 'q' }, 'x');
  const grant = { kind: 'static', label: 'exclusive', options: NO_OPTIONS, leavesPool: true } as const;
  const room = createRoom(snapshot, { held: CpuSet.empty, free: snapshot.free, inWholeCores: false, leavesPool: true });
  expect(refuseForLack(snapshot, grant, 1, { most: 1, room })).toMatchObject({
    because:
      'asked for 1 exclusive CPU, 1 can be given now: 1 of 7 allocatable CPUs is free, 1 of 8 online CPUs is reserved',
  });
  expect(refuseSplitCores(snapshot, 1)).toMatchObject({
    because: expect.stringMatching(/^asked for 1 exclusive CPU;/) as string,
  });
});
