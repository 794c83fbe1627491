import { spawnSync } from 'node:child_process';
import fs, { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Topology, Unit } from '../../../src/core/topology';
import { readOnline, readTopology, SysfsError } from '../../../src/host';
import { changeTree, loadMachine, withSysfs, type SysfsTree } from '../../support/sysfs-tree';

const read = (tree: SysfsTree): Topology => withSysfs(tree, (sysfsRoot) => readTopology({ sysfsRoot }));
const show = (units: readonly Unit[]): string => units.map(({ id, cpus }) => `${id}=${cpus.toString()}`).join(' ');
const showSets = (units: readonly Unit[]): string => units.map(({ cpus }) => cpus.toString()).join(' ');

describe('captured machines', () => {
  // prettier-ignore
  const MACHINES = [
    // machine, online, sockets, cores, nodes, caches, isolated
    ['host-2cpu',                    '0-1',                '0=0-1',                                     2,  '0=0-1',                                     '0=0-1',                                     ''],
    ['1x4x1',                        '0-3',                '0=0-3',                                     4,  '0=0-3',                                     '0=0-3',                                     ''],
    ['1x4x2',                        '0-7',                '0=0-7',                                     4,  '0=0-7',                                     '0=0-7',                                     ''],
    ['1x8x1-2l2-modules',            '0-7',                '0=0-7',                                     8,  '0=0-7',                                     '0=0-7',                                     ''],
    ['1x2dx4x2-2l3',                 '0-15',               '0=0-15',                                    8,  '0=0-15',                                    '0=0-7 1=8-15',                              ''],
    ['1x16x2-4l3-ccx',               '0-31',               '0=0-31',                                    16, '0=0-31',                                    '0=0-7 1=8-15 2=16-23 3=24-31',              ''],
    ['2x4x1-memless-cpuless',        '0-7',                '0=0-3 1=4-7',                               8,  '0=0-3 1=4-7',                               '0=0-3 1=4-7',                               ''],
    ['2x4x2-2numa',                  '0-15',               '0=0-7 1=8-15',                              8,  '0=0-7 1=8-15',                              '0=0-7 1=8-15',                              ''],
    ['2x4x2-2numa-amd',              '0-15',               '0=0-7 1=8-15',                              8,  '0=0-7 1=8-15',                              '0=0-7 8=8-15',                              ''],
    ['2x4x2-2numa-bare-metal-order', '0-15',               '0=0-3,8-11 1=4-7,12-15',                    8,  '0=0-3,8-11 1=4-7,12-15',                    '0=0-3,8-11 1=4-7,12-15',                    ''],
    ['2x4x2-2numa-interleaved',      '0-15',               '0=0,2,4,6,8,10,12,14 1=1,3,5,7,9,11,13,15', 8,  '0=0,2,4,6,8,10,12,14 1=1,3,5,7,9,11,13,15', '0=0,2,4,6,8,10,12,14 1=1,3,5,7,9,11,13,15', ''],
    ['2x4x2-2numa-isolcpus',         '0-15',               '0=0-7 1=8-15',                              8,  '0=0-7 1=8-15',                              '0=0-7 1=8-15',                              '2-3,10-11'],
    ['2x4x2-2numa-nosmt',            '0,2,4,6,8,10,12,14', '0=0,2,4,6 1=8,10,12,14',                    8,  '0=0,2,4,6 1=8,10,12,14',                    '0=0,2,4,6 1=8,10,12,14',                    ''],
    ['2x4x2-2numa-offline',          '0-2,4-5,8-14',       '0=0-2,4-5 1=8-14',                          7,  '0=0-2,4-5 1=8-14',                          '0=0-2,4-5 1=8-14',                          ''],
    ['2x8x2-4numa-snc',              '0-31',               '0=0-15 1=16-31',                            16, '0=0-7 1=8-15 2=16-23 3=24-31',              '0=0-15 1=16-31',                            ''],
    ['4x8x2-4numa-64',               '0-63',               '0=0-15 1=16-31 2=32-47 3=48-63',            32, '0=0-15 1=16-31 2=32-47 3=48-63',            '0=0-15 1=16-31 2=32-47 3=48-63',            ''],
  ] as const;

  test.each(MACHINES)('the topology of %s', (machine, online, sockets, cores, nodes, caches, isolated) => {
    const topology = read(loadMachine(machine));
    expect({
      online: topology.online.toString(),
      sockets: show(topology.sockets),
      cores: topology.cores.length,
      nodes: show(topology.numaNodes),
      caches: show(topology.uncoreCaches),
      isolated: topology.isolated.toString(),
    }).toEqual({ online, sockets, cores, nodes, caches, isolated });
  });

  test('the table has each captured machine', () => {
    const files = readdirSync(join(__dirname, '../../fixtures/sysfs')).filter((file) => file.endsWith('.json'));
    expect(MACHINES.map(([machine]) => machine).sort()).toEqual(files.map((file) => file.replace('.json', '')).sort());
  });

  test.each`
    machine                           | cores
    ${'1x4x1'}                        | ${'0=0 1=1 2=2 3=3'}
    ${'1x4x2'}                        | ${'0=0-1 2=2-3 4=4-5 6=6-7'}
    ${'2x4x1-memless-cpuless'}        | ${'0=0 1=1 2=2 3=3 4=4 5=5 6=6 7=7'}
    ${'2x4x2-2numa'}                  | ${'0=0-1 2=2-3 4=4-5 6=6-7 8=8-9 10=10-11 12=12-13 14=14-15'}
    ${'2x4x2-2numa-bare-metal-order'} | ${'0=0,8 1=1,9 2=2,10 3=3,11 4=4,12 5=5,13 6=6,14 7=7,15'}
    ${'2x4x2-2numa-interleaved'}      | ${'0=0,8 1=1,9 2=2,10 3=3,11 4=4,12 5=5,13 6=6,14 7=7,15'}
    ${'2x4x2-2numa-nosmt'}            | ${'0=0 2=2 4=4 6=6 8=8 10=10 12=12 14=14'}
    ${'2x4x2-2numa-offline'}          | ${'0=0-1 2=2 4=4-5 8=8-9 10=10-11 12=12-13 14=14'}
  `('the cores of $machine have the id of their lowest online CPU', ({ machine, cores }) => {
    expect(show(read(loadMachine(machine)).cores)).toBe(cores);
  });

  test('each CPU has the node, package and core of its files', () => {
    for (const [machine] of MACHINES) {
      const tree = loadMachine(machine);
      const text = (cpu: number, file: string): string => tree[`/sys/devices/system/cpu/cpu${cpu}/${file}`]!.trim();
      const { cpus, cores } = read(tree);
      for (const cpu of cpus) {
        expect(tree).toHaveProperty([`/sys/devices/system/cpu/cpu${cpu.id}/node${cpu.numaNode}`]);
        expect(`${cpu.socket}`).toBe(text(cpu.id, 'topology/physical_package_id'));
      }
      const place = (cpu: number): string =>
        ['physical_package_id', 'die_id', 'core_id'].map((file) => text(cpu, `topology/${file}`)).join('/');
      expect(new Set(cores.map((core) => new Set(core.cpus.toArray().map(place)).size))).toEqual(new Set([1]));
      expect(new Set(cpus.map((cpu) => place(cpu.id))).size).toBe(cores.length);
    }
  });

  test('memory nodes may have no memory or no CPUs, and have distances', () => {
    const { memoryNodes } = read(loadMachine('2x4x1-memless-cpuless'));
    expect(
      memoryNodes.map(({ id, memoryBytes, distances }) => ({ id, memoryBytes, distances: [...distances] })),
    ).toEqual([
      {
        id: 0,
        memoryBytes: 992092 * 1024,
        distances: [
          [0, 10],
          [1, 20],
          [2, 20],
        ],
      },
      {
        id: 1,
        memoryBytes: 0,
        distances: [
          [0, 20],
          [1, 10],
          [2, 20],
        ],
      },
      {
        id: 2,
        memoryBytes: 1030584 * 1024,
        distances: [
          [0, 20],
          [1, 20],
          [2, 10],
        ],
      },
    ]);
  });

  test('sub-NUMA clusters have their own distances', () => {
    const { memoryNodes } = read(loadMachine('2x8x2-4numa-snc'));
    expect(memoryNodes.map(({ distances }) => [...distances.values()].join(' '))).toEqual([
      '10 12 21 21',
      '12 10 21 21',
      '21 21 10 12',
      '21 21 12 10',
    ]);
  });
});

describe('unusual machines', () => {
  const numa = loadMachine('2x4x2-2numa');
  const noPackageLists = {
    'cpu/cpuN*/topology/package_cpus_list': null,
    'cpu/cpuN*/topology/core_siblings_list': null,
  };
  const node1AsNode8 = {
    'node/online': '0,8\n',
    'node/node8/cpulist': '8-15\n',
    'node/node8/distance': '21 10\n',
    'node/node8/meminfo': 'Node 8 MemTotal:  1024 kB\n',
  };

  test.each`
    name                                                | changes                                                                                         | part              | want
    ${'socket ids with gaps are kept'}                  | ${sockets(8, 36)}                                                                               | ${'sockets'}      | ${'8=0-7 36=8-15'}
    ${'an unknown package (-1) is told by its list'}    | ${{ 'cpu/cpuN*/topology/physical_package_id': '-1\n' }}                                         | ${'sockets'}      | ${'0=0-7 8=8-15'}
    ${'packages with one number are told by lists'}     | ${{ 'cpu/cpuN*/topology/physical_package_id': '1\n' }}                                          | ${'sockets'}      | ${'0=0-7 8=8-15'}
    ${'no lists: the number of the package decides'}    | ${noPackageLists}                                                                               | ${'sockets'}      | ${'0=0-7 1=8-15'}
    ${'no lists and no number: one socket'}             | ${{ ...noPackageLists, 'cpu/cpuN*/topology/physical_package_id': null }}                        | ${'sockets'}      | ${'0=0-15'}
    ${'no NUMA support: all CPUs are on node 0'}        | ${{ 'node/online': null }}                                                                      | ${'numaNodes'}    | ${'0=0-15'}
    ${'a CPU without node is on node 0'}                | ${{ 'node/node1/cpulist': '8-14\n' }}                                                           | ${'numaNodes'}    | ${'0=0-7,15 1=8-14'}
    ${'node ids with gaps are kept'}                    | ${node1AsNode8}                                                                                 | ${'numaNodes'}    | ${'0=0-7 8=8-15'}
    ${'no L3: the socket is the cache group'}           | ${{ 'cpu/cpuN*/cache/index3/level': null }}                                                     | ${'uncoreCaches'} | ${'0=0-7 1=8-15'}
    ${'no cache folder: the socket is the cache group'} | ${{ 'cpu/cpuN*/cache/indexN*/level': null }}                                                    | ${'uncoreCaches'} | ${'0=0-7 1=8-15'}
    ${'cores without L3 beside others are one group'}   | ${{ ...withoutL3(4, 5, 6, 7), ...l3('0-3', 0, 1, 2, 3) }}                                       | ${'uncoreCaches'} | ${'0=0-3 4=4-7 8=8-15'}
    ${'cache ids that repeat per socket are replaced'}  | ${{ 'cpu/cpuN*/cache/index3/id': '0\n' }}                                                       | ${'uncoreCaches'} | ${'0=0-7 8=8-15'}
    ${'no cache ids: the lowest CPU names the group'}   | ${{ 'cpu/cpuN*/cache/index3/id': null }}                                                        | ${'uncoreCaches'} | ${'0=0-7 8=8-15'}
    ${'the L3 is found at another index'}               | ${{ 'cpu/cpuN*/cache/index3/level': null, 'cpu/cpuN*/cache/index2/level': '3\n', ...lists(2) }} | ${'uncoreCaches'} | ${'0=0-7 4=8-15'}
    ${'an old kernel: thread_siblings_list is read'}    | ${{ 'cpu/cpuN*/topology/core_cpus_list': null }}                                                | ${'cores'}        | ${'0=0-1 2=2-3 4=4-5 6=6-7 8=8-9 10=10-11 12=12-13 14=14-15'}
    ${'offline CPUs in the lists are ignored'}          | ${{ 'cpu/online': '0-1,3-15\n' }}                                                               | ${'cores'}        | ${'0=0-1 3=3 4=4-5 6=6-7 8=8-9 10=10-11 12=12-13 14=14-15'}
  `('$name', ({ changes, part, want }) => {
    const topology = read(changeTree(numa, changes));
    expect(show(topology[part as 'cores'])).toBe(want);
  });

  test('a cache keeps its id when its first CPU goes offline', () => {
    const without8 = read(changeTree(numa, { 'cpu/online': '0-7,9-15\n' }));
    expect(show(without8.uncoreCaches)).toBe('0=0-7 1=9-15');
  });

  test('"(null)" and a missing file of isolated CPUs are the empty set, and offline CPUs are left out', () => {
    const isolated = (text: string | null): string =>
      read(changeTree(numa, { 'cpu/isolated': text })).isolated.toString();
    expect([isolated('  (null)\n'), isolated(null), isolated('3,14-99\n')]).toEqual(['', '', '3,14-15']);
  });

  test('siblings and caches with equal ids are distinguished by their CPUs', () => {
    const topology = read(
      changeTree(numa, { 'cpu/cpuN*/topology/core_id': '0\n', 'cpu/cpuN*/cache/index3/id': '7\n' }),
    );
    expect(topology.cores).toHaveLength(8);
    expect(showSets(topology.uncoreCaches)).toBe('0-7 8-15');
  });
});

describe('sysfs without online CPUs or their cores is refused with path, content, rule and remedy:', () => {
  const numa = loadMachine('2x4x2-2numa');

  test.each`
    name                                  | changes                                                  | path                                         | want
    ${'no cpu/online'}                    | ${{ 'cpu/online': null }}                                | ${'cpu/online'}                              | ${'no such file; every online CPU and node has it; check that --sysfs-root'}
    ${'an empty cpu/online'}              | ${{ 'cpu/online': '\n' }}                                | ${'cpu/online'}                              | ${'the list is empty; at least one CPU is online'}
    ${'"(null)" as cpu/online'}           | ${{ 'cpu/online': '(null)\n' }}                          | ${'cpu/online'}                              | ${'the list is empty'}
    ${'garbage in cpu/online'}            | ${{ 'cpu/online': 'all\n' }}                             | ${'cpu/online'}                              | ${'read "all"; a list like 0-3,8 is expected'}
    ${'a backward range in cpu/online'}   | ${{ 'cpu/online': '7-0\n' }}                             | ${'cpu/online'}                              | ${'read "7-0"'}
    ${'an absurd number in cpu/online'}   | ${{ 'cpu/online': '0-999999999\n' }}                     | ${'cpu/online'}                              | ${'read "0-999999999"'}
    ${'an online CPU without topology'}   | ${{ 'cpu/online': '0-16\n' }}                            | ${'cpu/cpu16/topology/thread_siblings_list'} | ${'no such file'}
    ${'a core that lacks the CPU itself'} | ${{ 'cpu/cpu3/topology/core_cpus_list': '0-1\n' }}       | ${'cpu/cpu3/topology/core_cpus_list'}        | ${'read "0-1"; the list must contain CPU 3 itself'}
    ${'a mask instead of a list'}         | ${{ 'cpu/cpu0/topology/core_cpus_list': 'ffff,0003\n' }} | ${'cpu/cpu0/topology/core_cpus_list'}        | ${'read "ffff,0003"; a list like 0-3,8 is expected'}
    ${'an empty list of siblings'}        | ${{ 'cpu/cpu0/topology/core_cpus_list': '\n' }}          | ${'cpu/cpu0/topology/core_cpus_list'}        | ${'must contain CPU 0 itself'}
  `('$name', ({ changes, path, want }) => {
    withSysfs(changeTree(numa, changes), (sysfsRoot) => {
      const error = caught(() => readTopology({ sysfsRoot }));
      expect(error).toBeInstanceOf(SysfsError);
      expect(error).toMatchObject({ path: join(sysfsRoot, 'devices/system', path) });
      expect(error.message).toContain(`${path}: `);
      expect(error.message).toContain(want);
      expect(error.message).toContain('--sysfs-root');
    });
  });

  test('a folder in place of a file', () => {
    withSysfs(changeTree(numa, { 'cpu/online': null, 'cpu/online/x': '1\n' }), (sysfsRoot) => {
      expect(caught(() => readTopology({ sysfsRoot })).message).toMatch(
        /cpu\/online: is a folder, not a file; a small file is expected here;/,
      );
    });
  });

  test('a FIFO in place of a file, without a hang', () => {
    withSysfs(changeTree(numa, { 'cpu/online': null }), (sysfsRoot) => {
      spawnSync('mkfifo', [join(sysfsRoot, 'devices/system/cpu/online')]);
      expect(caught(() => readTopology({ sysfsRoot })).message).toMatch(/cpu\/online: is not a regular file;/);
    });
  });

  test('a file larger than the kernel writes', () => {
    withSysfs(changeTree(numa, { 'cpu/online': `0${',0'.repeat(40_000)}` }), (sysfsRoot) => {
      expect(caught(() => readOnline(sysfsRoot)).message).toMatch(/cpu\/online: is larger than 64 KiB;/);
    });
  });

  test('a root that is not sysfs', () => {
    expect(caught(() => readTopology({ sysfsRoot: '/nonexistent' })).message).toBe(
      '/nonexistent/devices/system/cpu/online: no such file; every online CPU and node has it; ' +
        'check that --sysfs-root is the sysfs of this node, mounted whole',
    );
  });

  test('a long content, which is cut in the message', () => {
    withSysfs(changeTree(numa, { 'cpu/online': 'x'.repeat(5000) }), (sysfsRoot) => {
      expect(caught(() => readOnline(sysfsRoot)).message.length).toBeLessThan(sysfsRoot.length + 250);
    });
  });
});

test('a machine that loses CPUs while it is read is read again', () => {
  const numa = changeTree(loadMachine('2x4x2-2numa'), { 'cpu/isolated': null });
  withSysfs(numa, (sysfsRoot) => {
    const cpuRoot = join(sysfsRoot, 'devices/system/cpu');
    const open = fs.openSync;
    let left = false;
    const opening = jest.spyOn(fs, 'openSync').mockImplementation((path, ...how) => {
      // CPUs 8-15 go offline when the reader opens cpu/isolated.
      if (path === join(cpuRoot, 'isolated') && !left) {
        left = true;
        fs.writeFileSync(join(cpuRoot, 'online'), '0-7\n');
      }
      return open(path, ...how);
    });
    try {
      const topology = readTopology({ sysfsRoot });
      expect(left).toBe(true);
      expect(topology.online.toString()).toBe('0-7');
      expect(show(topology.sockets)).toBe('0=0-7');
    } finally {
      opening.mockRestore();
    }
  });
});

test('readOnline follows CPUs that go offline and come back', () => {
  const numa = loadMachine('2x4x2-2numa');
  const online = (text: string): string =>
    withSysfs(changeTree(numa, { 'cpu/online': text }), (sysfsRoot) => readOnline(sysfsRoot).toString());
  expect([online('0-15\n'), online('0-2,4-15\n'), online('0-15\n')]).toEqual(['0-15', '0-2,4-15', '0-15']);
});

function caught(action: () => unknown): Error {
  try {
    action();
  } catch (error) {
    return error as Error;
  }
  throw new Error('no error was thrown');
}

function sockets(first: number, second: number): Record<string, string> {
  return Object.fromEntries(
    Array.from({ length: 16 }, (_, cpu) => [
      `cpu/cpu${cpu}/topology/physical_package_id`,
      `${cpu < 8 ? first : second}\n`,
    ]),
  );
}

function withoutL3(...cpus: number[]): Record<string, null> {
  return Object.fromEntries(cpus.map((cpu) => [`cpu/cpu${cpu}/cache/index3/level`, null]));
}

function l3(list: string, ...cpus: number[]): Record<string, string> {
  return Object.fromEntries(cpus.map((cpu) => [`cpu/cpu${cpu}/cache/index3/shared_cpu_list`, `${list}\n`]));
}

function lists(index: number): Record<string, string> {
  return Object.fromEntries(
    Array.from({ length: 16 }, (_, cpu) => [
      `cpu/cpu${cpu}/cache/index${index}/shared_cpu_list`,
      cpu < 8 ? '0-7\n' : '8-15\n',
    ]),
  );
}
