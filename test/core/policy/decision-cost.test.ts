import { staticPolicy } from '../../../src/core/policy/static';
import { leastCpuMs } from '../../support/cpu-time';
import { listDecisions } from './decision-grid';

/** What a look at each of the 65,536 combinations of 16 nodes costs on this machine, now: the measure, however slow it is. */
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
  return leastCpuMs(tenPasses, 5) / 10;
}

test('a decision on 16 NUMA nodes costs so many looks at each of their combinations, whatever the options and the wear', () => {
  const most = 250 * passMs();
  let place = 0;
  const above: string[] = [];
  let looked = 0;
  for (const { name, snapshot, request } of listDecisions(16)) {
    if (place++ % 211 !== 0) continue;
    looked += 1;
    const decide = (): unknown => staticPolicy(snapshot, request);
    // What is above may only not be compiled yet.
    const ms = Math.min(leastCpuMs(decide), looked <= 10 ? leastCpuMs(decide, 10) : Infinity);
    if (ms > most) above.push(`${ms.toFixed(1)} ms of ${most.toFixed(1)}: ${name}`);
  }
  expect(looked).toBeGreaterThan(90);
  expect(above).toEqual([]);
});
