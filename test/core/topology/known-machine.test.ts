import { buildTopology, joinReadings, type CpuInfo } from '../../../src/core/topology';
import { parseCpuList } from '../../../src/core/cpuset';

/**
 * Two cores of two threads for each NUMA node; like the reader, a core has the number of its lowest CPU that is online.
 */
function machineOf(online: string) {
  const all = parseCpuList(online);
  const lowest = (id: number): number => [id % 4, (id % 4) + 4].find((each) => all.has(each))!;
  const cpus = [...all].map((id): CpuInfo => {
    const numaNode = id % 4 < 2 ? 0 : 1;
    return { id, core: lowest(id), socket: 0, numaNode, uncoreCache: numaNode };
  });
  const kinds = ['performance', 'efficiency'].map((name, i) => ({
    name,
    cpus: parseCpuList(i === 0 ? '0-1,4-5' : '2-3,6-7'),
  }));
  return buildTopology({ cpus, coreKinds: kinds });
}
const show = ({ cpus, coreKinds }: ReturnType<typeof machineOf>): unknown => ({ cpus, coreKinds });

test.each([
  ['all that was there is there', '0-3', '0-7'],
  ['a CPU left', '0-7', '0,2-7'],
  ['another CPU left, and one that is new came', '0-6', '0,2-7'],
  ['the lowest CPU of a core left', '0-7', '1-7'],
])('%s: the machine with every CPU', (_name, earlier, now) => {
  const joined = joinReadings(machineOf(earlier), machineOf(now));
  expect(show(joined)).toEqual(show(machineOf('0-7')));
});

test('CPUs of one core that were never online together are two cores', () => {
  const joined = joinReadings(machineOf('0-3,6-7'), machineOf('4-7'));
  expect(joined.cores.map(({ cpus }) => cpus.toString())).toEqual(['0', '1', '2,6', '3,7', '4', '5']);
});
