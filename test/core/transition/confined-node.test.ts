import { listPodResources } from '../../../src/app/status/pod-resources';
import { CpuSet } from '../../../src/core/cpuset';
import { findLargestAligned } from '../../../src/core/node-resources/largest-aligned';
import { countNodeResources } from '../../../src/core/node-resources/node-resources';
import { buildTopology, confineTopology, type Topology } from '../../../src/core/topology';
import { changeTopology } from '../../../src/core/transition';
import { judge } from '../../../src/core/verdict/judge';
import { cpus, machineOf, NodeDriver, type Rules } from './node-driver';

/** Twelve CPUs without siblings, in two NUMA nodes. */
const TWELVE = buildTopology({
  cpus: Array.from({ length: 12 }, (_, id) => {
    const numaNode = id < 6 ? 0 : 1;
    return { id, core: id, socket: 0, numaNode, uncoreCache: numaNode };
  }),
});
const confine = (list: string, machine: Topology = TWELVE) =>
  confineTopology(machine, { cgroup: '/lxc/n1', cpus: cpus(list) });
const nodeWith = (list: string, rules: Rules = {}) => new NodeDriver(confine(list), rules);
const setBound = (node: NodeDriver, list: string): void => node.change((draft) => changeTopology(draft, confine(list)));
const because = ({ answer }: NodeDriver): string => (answer?.kind === 'refuse' ? answer.message : '');

test('pods of 4, 4 and 2 CPUs on a node that has 8 of 12: the second is refused, and the others are within the bound', () => {
  const node = new NodeDriver(confine('0-7', machineOf(12, 1))).run('make a/c 4; make b/c 4');
  expect(because(node)).toBe(
    'asked for 4 exclusive CPUs, 3 can be given now: 3 of 7 allocatable CPUs are free, 1 of 8 usable CPUs is reserved ' +
      '(CPUs 8-11 are online, but the cgroup /lxc/n1 has 0-7 only)',
  );
  expect(node.run('make c/c 2').state).toBe('a/c 1-4; c/c 5-6; pool 0,7');
});

test('what is published counts no CPU out of bounds', () => {
  const { model } = nodeWith('0-7');
  expect(countNodeResources(model).zones.map(({ id, cpu }) => ({ id, ...cpu }))).toEqual([
    { id: 0, capacity: 6, allocatable: 5, available: 5 },
    { id: 1, capacity: 2, allocatable: 2, available: 2 },
  ]);
  expect(findLargestAligned(model)).toEqual({ physical_cpu: 7, uncore_cache: 5, numa_node: 5 });
  expect(listPodResources(model).allocatable.cpus.toString()).toBe('1-7');
});

test.each`
  name                    | bound  | reserved | pool   | refusal
  ${'only reserved CPUs'} | ${'0'} | ${'0'}   | ${'0'} | ${/0 of 0 allocatable CPUs are free, 1 of 1 usable CPU is reserved \(CPUs 1-11 are online, but/}
  ${'no reserved CPU'}    | ${'6'} | ${'0-3'} | ${'6'} | ${/1 of 1 allocatable CPU is free, 0 of 1 usable CPU is reserved \(the shared pool keeps at least 1; CPUs/}
`(
  'a bound that leaves $name: shared containers run on $pool, and a request is refused',
  ({ bound, reserved, pool, refusal }: Record<string, string> & { refusal: RegExp }) => {
    const node = nodeWith(bound!, { reserved: reserved! }).run('make s/c 0; make s/e 1');
    expect(because(node)).toMatch(refusal);
    expect(node.container('s/c')?.placement).toBe('shared');
    expect(node.model.sharedPool.toString()).toBe(pool);
  },
);

test('a bound that narrows and widens: who owns CPUs keeps them by right, and nobody else gets them', () => {
  const node = nodeWith('0-11').run('make a/c 4; make s/c 0');
  setBound(node, '0-2,6-11');
  expect(node.movesMade).toBe('a/c#1 1-4>1-2; s/c#1 0,5-11>0,6-11');
  expect(node.model.free.toString()).toBe('6-11');
  const verdict = judge(node.model, node.container('a/c')!, {
    kind: 'seen',
    cpus: cpus('1-2'),
    effective: cpus('1-2'),
    mems: CpuSet.empty,
  });
  expect(verdict).toEqual({
    kind: 'violated',
    because: 'promised CPUs 3-4 are online, but the cgroup /lxc/n1 has 0-2,6-11 only',
  });
  setBound(node, '0,6-11');
  expect(node.container('a/c')?.promise?.cpus.toString()).toBe('0,6-11');
  expect(node.run('make b/c 2').state).toBe('a/c 1-4; b/c 6-7; pool 0,8-11');
  setBound(node, '0-11');
  expect(node.state).toBe('a/c 1-4; b/c 6-7; pool 0,5,8-11');
  expect(node.container('a/c')?.promise?.cpus.toString()).toBe('1-4');
});

test('full-pcpus-only gives no core of which another tenant has a thread', () => {
  // Siblings are 0,4  1,5  2,6  3,7: 0-5 has two whole cores, and one is reserved.
  const node = new NodeDriver(confine('0-5', machineOf(4, 2)), { options: { fullPcpusOnly: true }, reserved: '0,4' });
  expect(findLargestAligned(node.model).physical_cpu).toBe(2);
  expect(node.run('make a/c 2').state).toBe('a/c 1,5; pool 0,2-4');
  expect(because(node.run('make b/c 2'))).toMatch(
    /only cores that are free as a whole; CPUs 6-7 are online, but the cgroup \/lxc\/n1/,
  );
});

test('with CPUs offline and out of bounds the verdict names both', () => {
  const node = new NodeDriver(TWELVE).run('make a/c 4');
  const { cpus: all } = TWELVE;
  node.change((draft) =>
    changeTopology(draft, confine('0-2,4-11', buildTopology({ cpus: all.filter(({ id }) => id !== 4) }))),
  );
  const { because } = judge(node.model, node.container('a/c')!, {
    kind: 'seen',
    cpus: cpus('1-2'),
    effective: cpus('1-2'),
    mems: CpuSet.empty,
  });
  expect(because).toBe('promised CPUs 4 are offline; CPU 3 is online, but the cgroup /lxc/n1 has 0-2,4-11 only');
});
