import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CpuSet } from '../../../src/core/cpuset';
import type { Topology, Unit } from '../../../src/core/topology';
import { readTopology, SysfsError } from '../../../src/host';
import { createRandom, type Random } from '../../support/random';
import { forCpus, smallMachine, unusualMachine } from '../../support/small-machine';
import { changeTree, loadMachine, withSysfs, type SysfsTree } from '../../support/sysfs-tree';

const read = (tree: SysfsTree): Topology =>
  withSysfs(tree, (sysfsRoot) => readTopology({ sysfsRoot, procRoot: join(sysfsRoot, '../proc') }));
const show = (units: readonly Unit[]): string => units.map(({ id, cpus }) => `${id}=${cpus.toString()}`).join(' ');
const showMemory = ({ localMemory }: Topology): string =>
  [...localMemory].map(([node, memory]) => `${node}:${memory.join(',')}`).join(' ');

const SINGLE = ['0', '1', '2', '3', '4', '5', '6', '7'];
const PAIRS = ['0-1', '2-3', '4-5', '6-7'];

describe('CPUs on several NUMA nodes', () => {
  test('emulated nodes are one node with the memory of all', () => {
    const four = Object.fromEntries(
      [0, 1, 2, 3].map((id) => [id, { cpus: '0-7', mib: 500, distances: '10 10 10 10' }]),
    );
    const topology = read(smallMachine({ cores: SINGLE, nodes: four }));
    expect(show(topology.numaNodes)).toBe('0=0-7');
    expect(showMemory(topology)).toBe('0:0,1,2,3');
    expect(topology.ignored).toEqual([
      'NUMA nodes 0-3 all list CPUs 0-7; they count as node 0, with the memory of all',
    ]);
  });

  test('of nodes that overlap in part the first has the CPUs', () => {
    const topology = read(
      smallMachine({
        cores: SINGLE,
        nodes: {
          0: { cpus: '0-4', mib: 500, distances: '10 20' },
          1: { cpus: '3-7', mib: 500, distances: '20 10' },
        },
      }),
    );
    expect(show(topology.numaNodes)).toBe('0=0-4 1=5-7');
    expect(showMemory(topology)).toBe('0:0 1:1');
    expect(topology.ignored).toEqual([
      'NUMA node 1 lists CPUs 3-4, which NUMA node 0 has too; the node with the lowest number has them',
    ]);
  });

  test('a node inside another one has memory for the CPUs that the other took', () => {
    const topology = read(
      smallMachine({
        cores: SINGLE,
        nodes: {
          0: { cpus: '0-7', mib: 500, distances: '10 20' },
          1: { cpus: '4-7', mib: 500, distances: '20 10' },
        },
      }),
    );
    expect(show(topology.numaNodes)).toBe('0=0-7');
    expect(showMemory(topology)).toBe('0:0,1');
  });
});

describe('what contradicts or is missing is left out and named:', () => {
  const numa = loadMachine('2x4x2-2numa');
  const CACHE = 'cache/index3';

  test.each`
    name                                 | changes                                                 | want
    ${'siblings that disagree'}          | ${{ 'cpu/cpu1/topology/core_cpus_list': '0-3\n' }}      | ${'cpu1/topology/core_cpus_list: read "0-3"; siblings must agree about the CPUs of their core; CPUs 0-1 are taken to be one core'}
    ${'a package that is no number'}     | ${{ 'cpu/cpu8/topology/physical_package_id': 'one\n' }} | ${'read "one"; a whole number of at least -1 is expected; the number of this socket is not known'}
    ${'a socket that lacks the CPU'}     | ${{ 'cpu/cpu0/topology/package_cpus_list': '1-7\n' }}   | ${'read "1-7"; the list must contain CPU 0 itself; it is not used'}
    ${'sockets that overlap'}            | ${{ 'cpu/cpu8/topology/package_cpus_list': '7-15\n' }}  | ${'read "7-15"; a CPU has one socket only, and 7 share another; CPUs 8-15 are taken to share one'}
    ${'an online node without a folder'} | ${{ 'node/online': '0-2\n' }}                           | ${'node/node2/cpulist: no such file; every online CPU and node has it; node 2 counts as one without CPUs'}
    ${'garbage in the list of nodes'}    | ${{ 'node/online': '0,,1\n' }}                          | ${'read "0,,1"; a list like 0-3,8 is expected; all CPUs are taken to be on one NUMA node'}
    ${'a node that lists other CPUs'}    | ${{ 'node/node1/cpulist': '8-13\n' }}                   | ${'node: no NUMA node lists CPUs 14-15; they are taken to be on node 0'}
    ${'meminfo without MemTotal'}        | ${{ 'node/node0/meminfo': 'Node 0 MemFree: 1 kB\n' }}   | ${'a line "Node N MemTotal: ... kB" is expected; node 0 counts as one without memory'}
    ${'a distance too few'}              | ${{ 'node/node0/distance': '10\n' }}                    | ${'read "10"; one distance for each of the 2 online nodes is expected; the distances of node 0 are not known'}
    ${'a distance that is no number'}    | ${{ 'node/node0/distance': '10 far\n' }}                | ${'read "far"; a whole number of at least 1 is expected; the distances of node 0 are not known'}
    ${'garbage in isolated'}             | ${{ 'cpu/isolated': 'none\n' }}                         | ${'cpu/isolated: read "none"; a list like 0-3,8 is expected; no CPU is taken to be isolated'}
    ${'a cache level that is no number'} | ${{ [`cpu/cpu0/${CACHE}/level`]: 'L3\n' }}              | ${'read "L3"; a whole number of at least 0 is expected; this cache is left out'}
    ${'an L3 that lacks the CPU itself'} | ${{ [`cpu/cpu0/${CACHE}/shared_cpu_list`]: '1-7\n' }}   | ${'read "1-7"; the list must contain CPU 0 itself; it is not used'}
    ${'L3s that overlap'}                | ${{ [`cpu/cpu8/${CACHE}/shared_cpu_list`]: '7-15\n' }}  | ${'read "7-15"; a CPU has one L3 only, and 7 share another; CPUs 8-15 are taken to share one'}
    ${'a cache id that is no number'}    | ${{ [`cpu/cpu0/${CACHE}/id`]: '0x1\n' }}                | ${'read "0x1"; a whole number of at least 0 is expected; the number of this cache is not known'}
    ${'capacities that are no numbers'}  | ${{ 'cpu/cpu0/cpu_capacity': 'big\n' }}                 | ${'cpu0/cpu_capacity: read "big"; a whole number of at least 1 is expected; the kinds of cores are not read from such files'}
  `('$name', ({ changes, want }) => {
    const topology = read(changeTree(numa, changes));
    expect(topology.online.toString()).toBe('0-15');
    expect(topology.cores).toHaveLength(8);
    expect(topology.ignored.join('\n')).toContain(want);
    expect(topology.ignored.join('\n')).not.toContain('--sysfs-root');
  });

  test('a machine of which nothing contradicts has nothing to name', () => {
    expect(read(numa).ignored).toEqual([]);
  });

  test('a thousand faults make a short list', () => {
    const broken = read(changeTree(loadMachine('4x8x2-4numa-64'), { 'cpu/cpuN*/topology/physical_package_id': 'x\n', 'cpu/cpuN*/topology/package_cpus_list': 'x\n', 'cpu/cpuN*/topology/core_siblings_list': null })); // prettier-ignore
    expect(broken.ignored).toHaveLength(21);
    expect(broken.ignored.at(-1)).toMatch(/^\d+ more like these$/);
  });

  test('a NUL at the end of a list is no part of it', () => {
    const topology = read(changeTree(numa, { 'node/online': '0-1\n\0', 'cpu/online': '0-15\n\0' }));
    expect(show(topology.numaNodes)).toBe('0=0-7 1=8-15');
    expect(topology.ignored).toEqual([]);
  });
});

describe('files that are missing, cut off, exchanged, garbage or no files at all:', () => {
  const texts = ['', '\n', '\0', '-1', '0-', '3-1', '0-3', ' 0 ', '0,0', '65535', '0-65536', '99999999999', '1e3', '0x1', '(null)\n', '10 10', '0-7\n\n0-3', 'Node 0 MemTotal: 9 kB', '\ufffd', 'x'.repeat(70_000)]; // prettier-ignore
  const needed = /\/cpu\/(online|cpu\d+\/topology\/(core_cpus|thread_siblings)_list)$/;

  /** Replaces one file; returns a function that brings it back. */
  function spoil(random: Random, root: string, tree: SysfsTree): () => void {
    const path = random.pick(Object.keys(tree));
    const [file, text] = [join(root, '..', path), tree[path]!];
    const remove = (): void => rmSync(file, { recursive: true, force: true });
    const write = (content: string): void => {
      remove();
      writeFileSync(file, content);
    };
    random.pick([
      remove,
      () => (remove(), mkdirSync(file)),
      () => (remove(), symlinkSync(file, file)),
      () => write(text.slice(0, random.int(0, text.length))),
      () => write(tree[random.pick(Object.keys(tree))]!),
      () => write(random.pick(texts)),
    ])();
    return () => {
      remove();
      if (text.startsWith('->')) symlinkSync(text.slice(2), file);
      else writeFileSync(file, text);
    };
  }

  test.each(['unusual', '1x4x2', '2x4x2-2numa-offline', '2x4x1-memless-cpuless', '1x8x1-2l2-modules'])(
    '%s is read without them, unless they name the online CPUs or their cores',
    (name) => {
      const tree = name === 'unusual' ? unusualMachine() : loadMachine(name);
      const random = createRandom(1);
      withSysfs(tree, (sysfsRoot) => {
        for (let round = 0; round < 150; round++) {
          const undo = Array.from({ length: random.int(1, 5) }, () => spoil(random, sysfsRoot, tree));
          try {
            const topology = readTopology({ sysfsRoot, procRoot: join(sysfsRoot, '../proc') });
            const { cores, sockets, numaNodes, uncoreCaches, memoryNodes } = topology;
            for (const units of [cores, sockets, numaNodes, uncoreCaches]) {
              expect(CpuSet.unionOf(units.map(({ cpus }) => cpus)).equals(topology.online)).toBe(true);
              expect(units.reduce((sum, { cpus }) => sum + cpus.size, 0)).toBe(topology.online.size);
            }
            const nodes = memoryNodes.map(({ id }) => id);
            if (nodes.length > 0) expect(nodes).toEqual(expect.arrayContaining(numaNodes.map(({ id }) => id)));
            for (const sentence of topology.ignored) expect(sentence).toMatch(/^[^\n\0]{1,400}$/);
          } catch (error) {
            if (!(error instanceof SysfsError)) throw error;
            expect(error.path).toMatch(needed);
          }
          for (const back of undo.reverse()) back();
        }
      });
    },
  );

  test('a number of a node that the kernel can’t have is none', () => {
    const tree = { ...unusualMachine(), '/sys/devices/system/node/node2/access1/initiators/node70000': '->../../../node0' }; // prettier-ignore
    expect(
      read(tree)
        .memoryNodes.find(({ id }) => id === 2)
        ?.initiators?.toString(),
    ).toBe('0');
  });
});

describe('groups of CPUs below the L3', () => {
  const l2 = (first: number, last: number, list: string): Record<string, string> => ({
    ...forCpus(first, last, 'cache/index0/level', '2'),
    ...forCpus(first, last, 'cache/index0/shared_cpu_list', list),
  });
  const show = ({ uncoreCaches }: Topology): string =>
    uncoreCaches.map(({ level, cpus }) => `${level}=${cpus.toString()}`).join(' ');

  test.each<[string, readonly string[], Readonly<Record<string, string>>, string]>([
    ['an L2 that cores share', SINGLE, { ...l2(0, 3, '0-3'), ...l2(4, 7, '4-7') }, 'L2=0-3 L2=4-7'],
    ['an L2 of one core is not shared', PAIRS, { ...l2(0, 1, '0-1'), ...l2(2, 3, '2-3') }, 'none=0-7'],
    [
      'clusters where no cache is known',
      SINGLE,
      {
        ...forCpus(0, 3, 'topology/cluster_cpus_list', '0-3'),
        ...forCpus(4, 7, 'topology/cluster_cpus_list', '4-7'),
      },
      'cluster=0-3 cluster=4-7',
    ],
    ['a cluster of one core tells nothing', PAIRS, forCpus(0, 1, 'topology/cluster_cpus_list', '0-1'), 'none=0-7'],
    [
      'cores without L3 beside others',
      SINGLE,
      {
        ...forCpus(0, 3, 'cache/index3/level', '3'),
        ...forCpus(0, 3, 'cache/index3/shared_cpu_list', '0-3'),
        ...l2(4, 7, '4-7'),
      },
      'L3=0-3 L2=4-7',
    ],
  ])('%s', (_name, cores, cpuFiles, want) => {
    expect(show(read(smallMachine({ cores, cpuFiles })))).toBe(want);
  });
});

describe('kinds of cores', () => {
  const kindsOf = ({ coreKinds }: Topology): string =>
    coreKinds.map(({ name, cpus }) => `${name}=${cpus.toString()}`).join(' ');
  const capacity = (...speeds: readonly number[]): Record<string, string> =>
    Object.assign({}, ...speeds.map((speed, cpu) => forCpus(cpu, cpu, 'cpu_capacity', `${speed}`)));
  const perf = (...speeds: readonly number[]): Record<string, string> =>
    Object.assign({}, ...speeds.map((speed, cpu) => forCpus(cpu, cpu, 'acpi_cppc/highest_perf', `${speed}`)));

  test.each([
    ['nothing is known of them', {}, {}, ''],
    ['all have one capacity', capacity(1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024), {}, ''],
    [
      'capacities of one kind differ a little',
      capacity(718, 731, 997, 1017, 718, 731, 1017, 1024),
      {},
      'performance=2-3,6-7 efficiency=0-1,4-5',
    ],
    [
      'there are four kinds',
      capacity(300, 300, 500, 500, 700, 700, 1024, 1024),
      {},
      'performance=6-7 middle-1=4-5 middle-2=2-3 efficiency=0-1',
    ],
    [
      'there are three kinds',
      capacity(300, 300, 700, 700, 700, 700, 700, 1024),
      {},
      'performance=7 middle=2-6 efficiency=0-1',
    ],
    [
      "Intel's lists go before the numbers of ACPI",
      perf(90, 80, 40, 40, 40, 40, 40, 40),
      { 'cpu_core/cpus': '0-1\n', 'cpu_atom/cpus': '2-7\n' },
      'performance=0-1 efficiency=2-7',
    ],
    [
      'lists that do not name all CPUs do not count',
      perf(90, 90, 40, 40, 40, 40, 40, 40),
      { 'cpu_core/cpus': '0-1\n', 'cpu_atom/cpus': '2-6\n' },
      'performance=0-1 efficiency=2-7',
    ],
    ['favoured cores are no kind', perf(231, 226, 221, 216, 211, 206, 201, 196), {}, ''],
    [
      'only the sizes of their L1 caches tell',
      { ...forCpus(0, 5, 'cache/index0/size', '32K'), ...forCpus(6, 7, 'cache/index0/size', '48K') },
      {},
      'performance=6-7 efficiency=0-5',
    ],
  ])('where %s', (_name, cpuFiles, deviceFiles, want) => {
    expect(kindsOf(read(smallMachine({ cores: SINGLE, cpuFiles, deviceFiles })))).toBe(want);
  });

  test('an offline CPU is of no kind', () => {
    const tree = smallMachine({ cores: SINGLE, cpuFiles: { ...capacity(1024, 1024, 400, 400, 400, 400, 400, 400), online: '0-1\n' } }); // prettier-ignore
    expect(kindsOf(read(tree))).toBe('');
  });
});

describe('memory of devices', () => {
  const DRAM = { 0: { cpus: '0-3', mib: 1000, distances: '10 20 17 28' }, 1: { cpus: '4-7', mib: 1000, distances: '20 10 28 17' } }; // prettier-ignore
  const OTHERS = { 2: { mib: 4000, distances: '17 28 10 28' }, 3: { mib: 4000, distances: '28 17 28 10' } };

  test('tiers, initiators and GPUs are read for nodes without CPUs', () => {
    const tree = {
      ...smallMachine({
        cores: SINGLE,
        nodes: { ...DRAM, ...OTHERS },
        deviceFiles: {
          'virtual/memory_tiering/memory_tier4/nodelist': '0-1\n',
          'virtual/memory_tiering/memory_tier22/nodelist': '2-3\n',
          'system/node/node2/access0/initiators/node3': '->../../../node3',
          'system/node/node2/access1/initiators/node0': '->../../../node0',
        },
      }),
      '/proc/driver/nvidia/gpus/0000:01:00.0/numa_status': 'Node:\t\t3\nStatus:\tonline\n',
    };
    const { memoryNodes } = read(tree);
    expect(memoryNodes.map(({ id, tier, initiators, isOfGpu }) => [id, tier, initiators?.toString(), isOfGpu])).toEqual([
      [0, undefined, undefined, undefined],
      [1, undefined, undefined, undefined],
      [2, 22, '0', undefined],
      [3, 22, undefined, true],
    ]); // prettier-ignore
  });

  test('a node with memory has its own alone', () => {
    expect(showMemory(read(smallMachine({ cores: SINGLE, nodes: { ...DRAM, ...OTHERS } })))).toBe('0:0 1:1');
  });

  const BARE = { 0: { ...DRAM[0], mib: 0 }, 1: { ...DRAM[1], mib: 0 } };

  test('a node without memory has that of the nearest node', () => {
    expect(showMemory(read(smallMachine({ cores: SINGLE, nodes: { ...BARE, ...OTHERS } })))).toBe('0:2 1:3');
  });

  test('HMAT decides before the distance', () => {
    const tree = smallMachine({
      cores: SINGLE,
      nodes: { ...BARE, ...OTHERS },
      deviceFiles: {
        'system/node/node2/access1/initiators/node1': '->../../../node1',
        'system/node/node3/access1/initiators/node0': '->../../../node0',
      },
    });
    expect(showMemory(read(tree))).toBe('0:3 1:2');
  });

  test('of equally near nodes the one without CPUs is local', () => {
    expect(showMemory(read(loadMachine('2x4x1-memless-cpuless')))).toBe('0:0 1:2');
  });

  test('the memory of a GPU is nobody’s, however near it is', () => {
    const tree = {
      ...smallMachine({ cores: SINGLE, nodes: { ...BARE, ...OTHERS } }),
      '/proc/driver/nvidia/gpus/0000:01:00.0/numa_status': 'Node: 2\n',
    };
    expect(showMemory(read(tree))).toBe('0:3 1:3');
  });
});
