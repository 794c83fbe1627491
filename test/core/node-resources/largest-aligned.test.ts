import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { NodeModel } from '../../../src/core/model/node-model';
import type { NodeView } from '../../../src/core/model/node-view';
import type { Settings, StaticPolicyOptions } from '../../../src/core/model/settings';
import { findLargestAligned } from '../../../src/core/node-resources/largest-aligned';
import { POLICIES, type Decision } from '../../../src/core/policy';
import {
  buildTopology,
  listAlignments,
  threadsPerCore,
  type AlignmentBoundary,
  type CacheLevel,
  type Topology,
} from '../../../src/core/topology';
import { snapshotFor } from '../../../src/core/decision/snapshot';
import { readTopology } from '../../../src/host';
import { createRandom, type Random } from '../../support/random';
import { loadMachine, withSysfs } from '../../support/sysfs-tree';
import { build } from '../../cli/topology/machines';
import { NodeDriver, without, type Rules } from '../transition/node-driver';

const MACHINES = readdirSync(join(__dirname, '../../fixtures/sysfs'))
  .filter((file) => file.endsWith('.json'))
  .map((file) => file.replace('.json', ''));
const BOUNDARIES: readonly AlignmentBoundary[] = ['physical_cpu', 'uncore_cache', 'numa_node'];

/** The engine's decision on a new pod of one container. */
function decide(view: NodeView, count: number): Decision {
  const { cpuManagerPolicy: policy } = view.settings;
  return POLICIES[policy](snapshotFor(view, { uid: '' }, ''), { count, podCount: count, memoryBytes: 0 });
}

/** The same node under other settings. */
function under(model: NodeModel, settings: Settings): NodeModel {
  const other = new NodeModel(model.topology, settings);
  for (const [, assignment] of model.assignments) other.apply({ kind: 'put-assignment', assignment });
  for (const [, pod] of model.pods) other.apply({ kind: 'put-pod', pod });
  for (const [, container] of model.containers) other.apply({ kind: 'put-container', container });
  return other;
}

const isAligned = (view: NodeView, decision: Decision, boundary: AlignmentBoundary): boolean =>
  decision.kind === 'pin' && listAlignments(view.topology, decision.cpus).includes(boundary);

function randomRules(random: Random, topology: Topology): Rules {
  const ids = topology.online.toArray();
  const options: Partial<StaticPolicyOptions> = {
    strictCpuReservation: random.chance(0.3),
    ...random.pick<Partial<StaticPolicyOptions>>([
      {},
      { fullPcpusOnly: true },
      { preferAlignCpusByUncorecache: true },
      { fullPcpusOnly: true, preferAlignCpusByUncorecache: true },
      { distributeCpusAcrossNuma: true },
      { alignBySocket: true },
    ]),
  };
  const policy = random.pick(['none', 'best-effort', 'restricted', 'single-numa-node'] as const);
  return {
    options,
    reserved: random.chance(0.3)
      ? String(random.pick(ids))
      : ids.slice(0, random.int(1, Math.ceil(ids.length / 4))).join(','),
    minSharedCpus: random.chance(0.5) ? 1 : random.int(1, Math.max(1, ids.length >> 1)),
    ...(policy !== 'none' && {
      topologyManager: {
        policy,
        scope: random.pick(['container', 'pod'] as const),
        options: { preferClosestNumaNodes: false, maxAllowableNumaNodes: 8 },
      },
    }),
  };
}

/** A node with random pods, after some of its CPUs may have gone offline. */
function randomNode(random: Random, machine: Topology): NodeModel {
  const driver = new NodeDriver(machine, randomRules(random, machine));
  const unit = threadsPerCore(machine);
  for (let i = random.int(0, 8); i > 0; i--) {
    const count = random.chance(0.5) ? unit * random.int(1, 3) : random.int(1, 5);
    driver.run(`make p${i}/a ${count}`);
    if (random.chance(0.3)) driver.run(`end p${i}/a; stop p${i}`);
  }
  if (random.chance(0.3)) {
    const gone = machine.online.toArray().filter((id) => id !== machine.online.first && random.chance(0.1));
    driver.setTopology(without(machine, gone.join(',')));
  }
  return driver.model;
}

describe.each(MACHINES)('%s with random pods and options', (name) => {
  const machine = withSysfs(loadMachine(name), (sysfsRoot) => readTopology({ sysfsRoot }));
  const seeds = Array.from({ length: 25 }, (_, seed) => seed);

  test('a request of the largest size is granted, and none above it is aligned', () => {
    let granted = 0;
    for (const seed of seeds) {
      const node = randomNode(createRandom(seed), machine);
      const largest = findLargestAligned(node);
      for (const boundary of BOUNDARIES) {
        const size = largest[boundary];
        if (size > 0) {
          expect({ seed, boundary, size, is: decide(node, size) }).toMatchObject({ is: { kind: 'pin' } });
          granted++;
        }
        for (let count = size + 1; count <= node.free.size; count++)
          if (isAligned(node, decide(node, count), boundary))
            throw new Error(`seed ${seed}: ${count} CPUs are aligned to ${boundary}, and ${size} should be most`);
      }
    }
    expect(granted).toBeGreaterThan(10);
  });

  test('with the option that requires a boundary, the largest size is granted there and no larger one is granted at all', () => {
    let compared = 0;
    for (const seed of seeds) {
      const original = randomNode(createRandom(seed), machine);
      const { settings } = original;
      const require: [AlignmentBoundary, Settings][] = [
        [
          'numa_node',
          {
            ...settings,
            topologyManager: {
              policy: 'single-numa-node',
              scope: 'container',
              options: { preferClosestNumaNodes: false, maxAllowableNumaNodes: 8 },
            },
          },
        ],
        ['physical_cpu', { ...settings, options: { ...settings.options, fullPcpusOnly: true } }],
      ];
      for (const [boundary, strict] of require) {
        const node = under(original, strict);
        const size = findLargestAligned(node)[boundary];
        if (size > 0) {
          expect({ seed, boundary, size, isAligned: isAligned(node, decide(node, size), boundary) }).toMatchObject({
            isAligned: true,
          });
          compared++;
        }
        for (let count = size + 1; count <= node.free.size; count++)
          expect({ seed, boundary, count, ...decide(node, count) }).toMatchObject({ kind: 'refuse' });
      }
    }
    expect(compared).toBeGreaterThan(10);
  });
});

describe('machines with followers of NUMA nodes', () => {
  const rules: Rules = { podPolicies: ['static', 'numa'] };

  test('a container that follows a node keeps one CPU there', () => {
    const driver = new NodeDriver(build(2, 1, 2, 2, 2), rules);
    expect(findLargestAligned(driver.model)).toEqual({ physical_cpu: 14, uncore_cache: 4, numa_node: 8 });
    driver.podFields.set('f', {
      annotations: {
        'topology.crane.io/cpu-policy': 'numa',
        'topology.crane.io/topology-result': JSON.stringify([
          { name: 'node1', type: 'Node', resources: { capacity: { cpu: '1' } } },
        ]),
      },
    });
    driver.run('make f/a 1');
    expect(findLargestAligned(driver.model)).toEqual({ physical_cpu: 12, uncore_cache: 4, numa_node: 7 });
  });
});

test('given a machine of which no shared cache is known, nothing can be aligned to one', () => {
  const { cpus, uncoreCaches } = build(2, 1, 2, 2, 2);
  const withLevel = (level: CacheLevel): Topology =>
    buildTopology({ cpus, cacheLevels: new Map(uncoreCaches.map(({ id }) => [id, level])) });
  const largest = (topology: Topology) => findLargestAligned(new NodeDriver(topology).model);
  expect(largest(withLevel('none'))).toEqual({ physical_cpu: 14, uncore_cache: 0, numa_node: 8 });
  expect(largest(withLevel('cluster'))).toEqual({ physical_cpu: 14, uncore_cache: 4, numa_node: 8 });
});

test.each`
  node                                                    | rules                                                             | largest
  ${'everything free'}                                    | ${{}}                                                             | ${[14, 4, 8]}
  ${'the pool keeps 10 CPUs'}                             | ${{ minSharedCpus: 10 }}                                          | ${[6, 4, 6]}
  ${'the pool keeps 11 CPUs, cores have 2'}               | ${{ minSharedCpus: 11 }}                                          | ${[4, 4, 5]}
  ${'the pool keeps more than the machine has'}           | ${{ minSharedCpus: 20 }}                                          | ${[0, 0, 0]}
  ${'whole cores only: node 0 has 3 of them'}             | ${{ options: { fullPcpusOnly: true }, reserved: '0,4' }}          | ${[12, 4, 6]}
  ${'the pool keeps CPUs beside reserved ones, strictly'} | ${{ minSharedCpus: 10, options: { strictCpuReservation: true } }} | ${[4, 4, 5]}
  ${'no policy'}                                          | ${{ cpuManagerPolicy: 'none' }}                                   | ${[0, 0, 0]}
  ${'no policy of the node, and pods may choose'}         | ${{ cpuManagerPolicy: 'none', podPolicies: ['static'] }}          | ${[14, 4, 8]}
  ${'all containers follow nodes'}                        | ${{ cpuManagerPolicy: 'numa' }}                                   | ${[0, 0, 0]}
  ${'immovable CPUs stay in the pool: its floor is kept'} | ${{ cpuManagerPolicy: 'immovable', minSharedCpus: 10 }}           | ${[14, 4, 8]}
`('$node: $largest', ({ rules, largest }: { rules: Rules; largest: number[] }) => {
  const found = findLargestAligned(new NodeDriver(build(2, 1, 2, 2, 2), rules).model);
  expect(BOUNDARIES.map((boundary) => found[boundary])).toEqual(largest);
});
