import { join } from 'node:path';

import { parseCpuList } from '../../../src/core/cpuset';
import { Ignored } from '../../../src/host/sysfs/ignored';
import { readNodes, type Nodes } from '../../../src/host/sysfs/read-nodes';
import { withSysfs } from '../../support/sysfs-tree';

/** Two nodes, of which the second has no CPU. */
const TWO_NODES = {
  online: '0,2\n',
  'node0/cpulist': '0-1\n',
  'node0/meminfo': 'Node 0 MemTotal:  2048 kB\n',
  'node0/distance': '10 21\n',
  'node2/cpulist': '\n',
  'node2/meminfo': 'Node 2 MemTotal:  1024 kB\n',
  'node2/distance': '21 10\n',
};

function read(files: Readonly<Record<string, string>>): Nodes {
  const tree = Object.fromEntries(
    Object.entries(files).map(([name, text]) => [`/sys/devices/system/node/${name}`, text]),
  );
  const online = parseCpuList('0-1');
  return withSysfs(tree, (sysfsRoot) =>
    readNodes({ sysfsRoot, procRoot: join(sysfsRoot, 'proc'), online }, new Ignored()),
  );
}

test('each node has its CPUs, memory and distances by node id', () => {
  const { nodeOf, memoryNodes } = read(TWO_NODES);
  expect([...nodeOf]).toEqual([
    [0, 0],
    [1, 0],
  ]);
  expect(memoryNodes.map(({ id, memoryBytes, distances }) => ({ id, memoryBytes, distances: [...distances] }))).toEqual(
    [
      { id: 0, memoryBytes: 2 ** 21, distances: [[0, 10], [2, 21]] },
      { id: 2, memoryBytes: 2 ** 20, distances: [[0, 21], [2, 10]] },
    ],
  ); // prettier-ignore
});

test('huge pages are those that are set aside on each node, by size', () => {
  const { memoryNodes } = read({
    ...TWO_NODES,
    'node0/hugepages/hugepages-2048kB/nr_hugepages': '64\n',
    'node0/hugepages/hugepages-2048kB/free_hugepages': '3\n',
    'node0/hugepages/hugepages-1048576kB/nr_hugepages': '1\n',
    'node0/hugepages/hugepages-3kB/nr_hugepages': '1\n',
    'node2/hugepages/hugepages-2048kB/nr_hugepages': '0\n',
    'node2/hugepages/hugepages-64kB/nr_hugepages': 'many\n',
  });
  expect(memoryNodes.map(({ hugePages }) => hugePages)).toEqual([
    { 'hugepages-1Gi': 2 ** 30, 'hugepages-2Mi': 2 ** 27 },
    undefined,
  ]);
});

test('without NUMA support there are no nodes', () => {
  expect(read({})).toEqual({ nodeOf: new Map(), memoryNodes: [] });
});
