import fc from 'fast-check';
import { align } from '../../../src/core/hints/align';
import { hintCpus, hintMemory } from '../../../src/core/hints/providers';
import { CpuSet } from '../../../src/core/cpuset';
import { NO_OPTIONS } from '../../../src/core/model/settings';
import { NO_TOPOLOGY_MANAGER_OPTIONS } from '../../../src/core/options/topology-manager-options';
import { buildTopology, type Topology } from '../../../src/core/topology';
import { makeRandom } from '../topology/arbitrary-machine';
import { listHints } from './as-list';
import * as oneByOne from './one-by-one';

/** Random nodes, sockets, CPUs, distances and memory; no real machine need have them. */
const arbitraryMachine: fc.Arbitrary<Topology> = fc
  .record({
    nodes: fc.integer({ min: 1, max: 7 }),
    sockets: fc.integer({ min: 1, max: 9 }),
    cpus: fc.integer({ min: 1, max: 40 }),
    seed: fc.integer(),
  })
  .map(({ nodes, sockets, cpus, seed }) => {
    const random = makeRandom(seed);
    const below = (end: number): number => Math.floor(random() * end);
    const ids = Array.from({ length: nodes }, (_, id) => id);
    return buildTopology({
      cpus: Array.from({ length: cpus }, (_, id) => {
        const numaNode = below(nodes);
        const socket = random() < 0.8 ? Math.floor((numaNode * sockets) / nodes) : below(sockets);
        return { id, core: id, socket, numaNode, uncoreCache: numaNode };
      }),
      memoryNodes: ids.map((id) => ({
        id,
        memoryBytes: below(5) * 1000,
        distances: new Map(ids.filter(() => random() < 0.99).map((to) => [to, to === id ? 10 : 11 + below(4)])),
      })),
    });
  });

const arbitraryRequest = fc.record({
  topology: arbitraryMachine,
  count: fc.integer({ min: 0, max: 24 }),
  wear: fc.double({ min: 0, max: 1, noNaN: true }),
  held: fc.constantFrom(0, 0, 0.1, 0.4),
  bytes: fc.constantFrom(0, 1, 1500, 4000, 9000, 40_000),
  alignBySocket: fc.boolean(),
  closest: fc.boolean(),
  policy: fc.constantFrom('best-effort', 'restricted', 'single-numa-node'),
  seed: fc.integer(),
});

test('tables give the same decisions, hints and messages as lists of hints', () => {
  let kinds = '';
  fc.assert(
    fc.property(arbitraryRequest, (given) => {
      const { topology, count, wear, held, bytes, alignBySocket, closest, policy, seed } = given;
      const random = makeRandom(seed);
      const pick = (share: number): CpuSet => CpuSet.of(topology.cpus.flatMap(({ id }) => (random() < share ? [id] : [])));
      const cpuRequest = {
        topology,
        options: { ...NO_OPTIONS, alignBySocket },
        count,
        available: pick(wear),
        reusable: pick(held),
      };
      const freeBytes = new Map(topology.memoryNodes.map(({ id, memoryBytes }) => [id, memoryBytes * random() - 100]));
      const memoryRequest = { topology, bytes, freeBytes };
      const [cpu, memory] = [hintCpus(cpuRequest), hintMemory(memoryRequest)];
      const [cpuList, memoryList] = [oneByOne.hintCpus(cpuRequest), oneByOne.hintMemory(memoryRequest)];
      expect(cpu && listHints(cpu)).toEqual(cpuList);
      expect(memory && listHints(memory)).toEqual(memoryList);

      const input = { topology, policy, options: { ...NO_TOPOLOGY_MANAGER_OPTIONS, preferClosestNumaNodes: closest } };
      const got = align({ ...input, providers: [{ cpu }, { memory }] });
      expect(got).toEqual(oneByOne.align({ ...input, providers: [{ cpu: cpuList }, { memory: memoryList }] }));
      kinds += got.kind === 'accept' ? (got.preferred ? 'p' : 'a') : got.because.includes('; nearest: ') ? 'n' : 'r';
    }),
    { seed: 23, numRuns: 2500 },
  );
  // Each outcome occurred often.
  for (const kind of 'panr') expect(kinds.split(kind).length).toBeGreaterThan(50);
}); // prettier-ignore
