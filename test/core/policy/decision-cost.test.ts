import { POLICIES } from '../../../src/core/policy';
import { leastCpuMs } from '../../support/cpu-time';
import { listDecisions } from './decision-grid';

/** The time of one pass over the 65,536 combinations of 16 nodes on this machine: the unit of the measurements. */
function passMs(): number {
  const sums = new Float64Array(2 ** 16);
  const amounts = Array.from({ length: 16 }, (_, i) => i + 0.5);
  const { clz32 } = Math;
  const tenPasses = (): void => {
    for (let pass = 0; pass < 10; pass++)
      for (let mask = 1; mask < sums.length; mask++)
        sums[mask] = sums[mask & (mask - 1)]! + amounts[31 - clz32(mask & -mask)]!;
  };
  tenPasses();
  return leastCpuMs(tenPasses, { tries: 5 }) / 10;
}

/** The slowest decision takes about 220 passes. A search through pairs of combinations would take 65,536. */
const MOST_PASSES = 300;

/** The time of the work in passes. A result above the limit is measured again: code is compiled late, and the garbage collector may run. */
function passesOf(decide: () => unknown, knownUnitMs: number): number {
  let passes = leastCpuMs(decide, { tries: 1 }) / knownUnitMs;
  for (let again = 0; again < 6 && passes > MOST_PASSES; again++) {
    const unitMs = passMs();
    passes = Math.min(passes, leastCpuMs(decide, { tries: 10, limitMs: MOST_PASSES * unitMs }) / unitMs);
  }
  return passes;
}

test('a decision on 16 NUMA nodes costs a bounded number of passes over their combinations, for any options and occupied CPUs', () => {
  const above: string[] = [];
  let place = 0;
  let measured = 0;
  const unitMs = passMs();
  for (const { name, snapshot, request } of listDecisions(16)) {
    if (place++ % 211 !== 0) continue;
    measured += 1;
    const passes = passesOf(() => POLICIES.static(snapshot, request), unitMs);
    if (passes > MOST_PASSES) above.push(`${passes.toFixed()} passes: ${name}`);
  }
  expect(measured).toBeGreaterThan(90);
  expect(above).toEqual([]);
});
