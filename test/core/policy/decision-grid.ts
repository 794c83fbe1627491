import { CpuSet } from '../../../src/core/cpuset';
import { NO_OPTIONS, type Settings, type StaticPolicyOptions } from '../../../src/core/model/settings';
import { checkStaticPolicyOptions } from '../../../src/core/options/static-policy-options';
import type { PinRequest, Snapshot } from '../../../src/core/policy';
import { buildTopology, type CpuInfo, type Topology } from '../../../src/core/topology';
import { makeRandom } from '../topology/arbitrary-machine';
import { bareSnapshot } from './bare-snapshot';

const GiB = 1024 ** 3;

const pick = (...keys: (keyof StaticPolicyOptions)[]): StaticPolicyOptions => ({
  ...NO_OPTIONS,
  ...Object.fromEntries(keys.map((key) => [key, true])),
});
const OPTIONS: readonly StaticPolicyOptions[] = [
  NO_OPTIONS,
  pick('fullPcpusOnly'),
  pick('alignBySocket'),
  pick('distributeCpusAcrossNuma'),
  pick('distributeCpusAcrossNuma', 'alignBySocket'),
  pick('distributeCpusAcrossNuma', 'fullPcpusOnly', 'alignBySocket'),
  pick('preferAlignCpusByUncorecache', 'fullPcpusOnly'),
  pick('preferAlignCpusByUncorecache', 'alignBySocket'),
  pick('distributeCpusAcrossCores', 'alignBySocket'),
];

function machine(nodes: number, sockets: number, cpuCount: number, threads: number): Topology {
  const cores = cpuCount / threads;
  const cpus: CpuInfo[] = [];
  for (let id = 0; id < cpuCount; id++) {
    const core = id % cores;
    cpus.push({
      id,
      core,
      socket: Math.floor((core * sockets) / cores),
      numaNode: Math.floor((core * nodes) / cores),
      uncoreCache: Math.floor(core / 4),
    });
  }
  const ids = Array.from({ length: nodes }, (_, id) => id);
  return buildTopology({
    cpus,
    memoryNodes: ids.map((id) => ({
      id,
      memoryBytes: 64 * GiB,
      distances: new Map(ids.map((to) => [to, to === id ? 10 : 11 + ((id ^ to) % 5)])),
    })),
  });
}

const WEAR: Readonly<Record<string, (topology: Topology) => CpuSet>> = {
  fresh: ({ online }) => online,
  'half at random': (topology) => wear(topology, () => 0.5),
  'uneven nodes': (topology) => {
    const random = makeRandom(7);
    const levels = topology.numaNodes.map(() => random());
    return wear(topology, (cpu) => levels[cpu.numaNode]!);
  },
  'one thread a core': ({ cpus, cores }) => CpuSet.of(cpus.filter(({ id }) => id < cores.length).map(({ id }) => id)),
  'half full nodes': (topology) => wear(topology, (cpu) => (cpu.numaNode % 2 === 0 ? 0.1 : 0.9)),
};

function wear({ cpus }: Topology, shareOf: (cpu: CpuInfo) => number): CpuSet {
  const random = makeRandom(3);
  return CpuSet.of(cpus.filter((cpu) => random() < shareOf(cpu)).map(({ id }) => id));
}

/** One decision of the static policy. */
export interface DecisionCase {
  readonly name: string;
  readonly snapshot: Snapshot;
  readonly request: PinRequest;
}

/**
 * All combinations of machines, options, policies, occupied CPUs and requests; more than ten thousand for each number
 * of nodes.
 */
export function* listDecisions(nodes: number): Generator<DecisionCase> {
  const shapes = [
    [nodes, 1024, 2],
    [Math.max(1, nodes / 4), 1024, 2],
    [Math.max(1, nodes / 2), 128, 1],
    [nodes * 2, 1024, 4],
  ] as const;
  for (const [sockets, cpuCount, threads] of shapes) {
    const topology = machine(nodes, sockets, cpuCount, threads);
    const states = listStates(topology);
    for (const options of OPTIONS)
      for (const policy of ['none', 'best-effort', 'restricted', 'single-numa-node'] as const) {
        if (!checkStaticPolicyOptions(options, { topology, topologyManagerPolicy: policy }).ok) continue;
        for (const scope of policy === 'none' ? (['container'] as const) : (['container', 'pod'] as const))
          for (const closest of policy === 'none' ? [false] : [false, true])
            for (const { wearName, held, open, idle, free } of states) {
              const settings: Partial<Settings> = {
                options,
                reserved,
                memoryNodes: 'follow',
                topologyManager: {
                  policy,
                  scope,
                  options: { preferClosestNumaNodes: closest, maxAllowableNumaNodes: 16 },
                },
              };
              for (const count of countsOf(open.size, cpuCount / nodes)) {
                const promised = topology.numaNodes.map(({ id }) => [id, ((id * 37) % 64) * GiB] as const);
                yield {
                  name: `${nodes} nodes, ${sockets} sockets, ${cpuCount} CPUs, ${JSON.stringify(Object.keys(options).filter((key) => options[key as keyof StaticPolicyOptions]))}, ${policy}, ${scope}, ${closest ? 'closest' : ''}, ${wearName}, holds ${held}, ${count} CPUs`,
                  request: { count, podCount: count, memoryBytes: Math.ceil((count / cpuCount) * nodes * 64) * GiB },
                  snapshot: bareSnapshot(topology, {
                    settings,
                    idleInPod: idle,
                    ownedByPod: idle,
                    free,
                    promisedMemory: new Map(promised),
                  }),
                };
              }
            }
      }
  }
}

const reserved = CpuSet.of([0]);

/** The free CPUs, and the idle CPUs of the requesting pod. */
function listStates(topology: Topology) {
  return Object.entries(WEAR).flatMap(([wearName, wearOf]) =>
    ['nothing', 'some'].map((held) => {
      const open = wearOf(topology).minus(reserved);
      const idle = held === 'some' ? CpuSet.of(open.toArray().filter((_, i) => i % 9 === 4)) : CpuSet.empty;
      return { wearName, held, open, idle, free: open.minus(idle) };
    }),
  );
}

function countsOf(free: number, perNode: number): readonly number[] {
  const counts = [2, 12, perNode, perNode + 2, perNode * 3 - 14, free >> 1, free - 4];
  return [...new Set(counts.map((count) => Math.max(2, Math.min(free, count & ~1))))];
}
