import fc from 'fast-check';
import { CpuSet } from '../../../src/core/cpuset';
import { buildTopology, type CpuInfo } from '../../../src/core/topology';
import { arbitraryMachine } from './arbitrary-machine';

const cpu = (id: number, more: Partial<CpuInfo> = {}): CpuInfo => ({
  id,
  core: id,
  socket: 0,
  numaNode: 0,
  uncoreCache: 0,
  ...more,
});

test('CPUs are grouped into units, each list ascending', () => {
  const { cores, numaNodes, online } = buildTopology({
    cpus: [cpu(5, { core: 1, numaNode: 3 }), cpu(2), cpu(1, { core: 1 })],
  });
  expect(cores.map(({ id, cpus }) => `${id}: ${cpus.toString()}`)).toEqual(['1: 1,5', '2: 2']);
  expect(numaNodes.map(({ id, cpus }) => `${id}: ${cpus.toString()}`)).toEqual(['0: 1-2', '3: 5']);
  expect(online.toString()).toBe('1-2,5');
});

test('isolated CPUs that are not online are left out', () => {
  expect(buildTopology({ cpus: [cpu(0), cpu(1)], isolated: CpuSet.of([1, 7]) }).isolated.toString()).toBe('1');
});

test.each([
  ['no CPU', [], 'a machine needs at least one online CPU'],
  ['a CPU that is named twice', [cpu(1), cpu(0), cpu(1)], 'CPU 1 is named twice'],
])('a machine with %s is refused', (_name, cpus, message) => {
  expect(() => buildTopology({ cpus })).toThrow(message);
});

test('the index says the same as the units', () => {
  fc.assert(
    fc.property(arbitraryMachine, ({ cpus, cores, sockets, numaNodes, uncoreCaches, index }) => {
      expect([...index.cpuIds]).toEqual(cpus.map(({ id }) => id));
      cpus.forEach(({ id }, place) => expect(index.indexOf[id]).toBe(place));
      for (const [units, kind] of [
        [cores, index.core],
        [sockets, index.socket],
        [numaNodes, index.numaNode],
        [uncoreCaches, index.uncoreCache],
      ] as const) {
        expect(kind.ids).toEqual(units.map(({ id }) => id));
        expect(kind.cpus.map((places) => CpuSet.of(places.map((place) => index.cpuIds[place]!)).toString())).toEqual(
          units.map((unit) => unit.cpus.toString()),
        );
        expect(kind.largest).toBe(Math.max(...units.map((unit) => unit.cpus.size)));
      }
      const inner = index.cachesOfNode.within.map((units) => [...units]);
      expect(inner).toEqual(
        numaNodes.map((node) => uncoreCaches.flatMap(({ cpus: own }, i) => (own.overlaps(node.cpus) ? [i] : []))),
      );
      expect(index.cachesOfNode.crosses).toBe(inner.flat().length > uncoreCaches.length);
    }),
    { seed: 5, numRuns: 100 },
  );
});
