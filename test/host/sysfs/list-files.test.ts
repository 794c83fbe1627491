import { listSysfsFiles, readTopology } from '../../../src/host';
import { forCpus, smallMachine } from '../../support/small-machine';
import { loadMachine, withSysfs } from '../../support/sysfs-tree';

test.each(['host-2cpu', '2x4x2-2numa-offline', '2x8x2-4numa-snc', '1x16x2-4l3-ccx', '2x4x1-memless-cpuless'])(
  'the files of %s make the same machine again',
  (name) => {
    const [files, topology] = withSysfs(
      loadMachine(name),
      (sysfsRoot) => [listSysfsFiles(sysfsRoot), readTopology({ sysfsRoot })] as const,
    );
    const again = withSysfs(files, (sysfsRoot) => readTopology({ sysfsRoot }));
    expect(again.cpus.length).toBeGreaterThan(1);
    expect(again).toEqual(topology);
  },
);

test('kinds of cores, clusters, tiers and initiators are among them', () => {
  const tree = smallMachine({
    cores: ['0', '1', '2', '3'],
    nodes: { 0: { cpus: '0-3', mib: 0, distances: '10 17' }, 1: { mib: 100, distances: '17 10' } },
    cpuFiles: {
      ...forCpus(0, 1, 'topology/cluster_cpus_list', '0-1'),
      ...forCpus(2, 3, 'topology/cluster_cpus_list', '2-3'),
    },
    deviceFiles: {
      'cpu_core/cpus': '0-1\n',
      'cpu_atom/cpus': '2-3\n',
      'virtual/memory_tiering/memory_tier4/nodelist': '1\n',
      'system/node/node1/access1/initiators/node0': '->../../../node0',
    },
  });
  const [files, topology] = withSysfs(
    tree,
    (sysfsRoot) => [listSysfsFiles(sysfsRoot), readTopology({ sysfsRoot })] as const,
  );
  expect(topology.coreKinds).toHaveLength(2);
  expect(topology.memoryNodes[1]).toMatchObject({ tier: 4 });
  expect(withSysfs(files, (sysfsRoot) => readTopology({ sysfsRoot }))).toEqual(topology);
});

test('a folder that is no sysfs has none', () => {
  expect(listSysfsFiles('/nowhere')).toEqual({});
});
