import type { SysfsTree } from './sysfs-tree';

/** One NUMA node of a machine that a test describes. */
export interface SmallNode {
  /** CPUs in the kernel's list format, as its file has them; absent = none. */
  readonly cpus?: string;
  readonly mib: number;
  readonly distances: string;
}

export interface SmallMachine {
  /** The CPUs of each core; CPU numbers begin at 0 and leave no gap. */
  readonly cores: readonly string[];
  readonly nodes?: Readonly<Record<number, SmallNode>>;
  /** Other files, relative to /sys/devices/system/cpu; `cpuN` files of single CPUs too. */
  readonly cpuFiles?: Readonly<Record<string, string>>;
  /** Other files, relative to /sys/devices. */
  readonly deviceFiles?: Readonly<Record<string, string>>;
}

/** The sysfs of a machine in one socket, as few files as the kernel always has: no caches unless they are given. */
export function smallMachine({ cores, nodes = {}, cpuFiles = {}, deviceFiles = {} }: SmallMachine): SysfsTree {
  const cpuRoot = '/sys/devices/system/cpu';
  const nodeRoot = '/sys/devices/system/node';
  const expand = (list: string): number[] =>
    list.split(',').flatMap((part) => {
      const [first, last = first] = part.split('-').map(Number) as [number, number?];
      return Array.from({ length: last - first + 1 }, (_, i) => first + i);
    });
  const cpus = cores.flatMap((core) => expand(core));
  const online = `0-${Math.max(...cpus)}\n`;
  return Object.fromEntries([
    ...['online', 'present', 'possible'].map((name) => [`${cpuRoot}/${name}`, online]),
    ...cores.flatMap((core) =>
      expand(core).flatMap((cpu) => [
        [`${cpuRoot}/cpu${cpu}/topology/core_cpus_list`, `${core}\n`],
        [`${cpuRoot}/cpu${cpu}/topology/package_cpus_list`, online],
        [`${cpuRoot}/cpu${cpu}/topology/physical_package_id`, '0\n'],
      ]),
    ),
    ...(Object.keys(nodes).length === 0 ? [] : [[`${nodeRoot}/online`, `${Object.keys(nodes).join(',')}\n`]]),
    ...Object.entries(nodes).flatMap(([id, { cpus: list = '', mib, distances }]) => [
      [`${nodeRoot}/node${id}/cpulist`, `${list}\n`],
      [`${nodeRoot}/node${id}/meminfo`, `Node ${id} MemTotal: ${mib * 1024} kB\n`],
      [`${nodeRoot}/node${id}/distance`, `${distances}\n`],
    ]),
    ...Object.entries(cpuFiles).map(([name, text]) => [`${cpuRoot}/${name}`, text]),
    ...Object.entries(deviceFiles).map(([name, text]) => [`/sys/devices/${name}`, text]),
  ]) as SysfsTree;
}

/** The same file for a range of CPUs. */
export function forCpus(first: number, last: number, file: string, text: string): Record<string, string> {
  return Object.fromEntries(
    Array.from({ length: last - first + 1 }, (_, i) => [`cpu${first + i}/${file}`, `${text}\n`]),
  );
}

/** Everything at once: two kinds of cores, clusters, emulated nodes, a slow node without CPUs and a GPU. */
export function unusualMachine(): SysfsTree {
  const cores = ['0-1', '2-3', '4', '5', '6', '7'];
  return {
    ...smallMachine({
      cores,
      nodes: {
        0: { cpus: '0-7', mib: 500, distances: '10 10 20 40' },
        1: { cpus: '0-7', mib: 500, distances: '10 10 20 40' },
        2: { mib: 4000, distances: '20 20 10 40' },
        3: { mib: 8000, distances: '40 40 40 10' },
      },
      cpuFiles: {
        ...forCpus(0, 3, 'topology/cluster_cpus_list', '0-3'),
        ...forCpus(4, 7, 'topology/cluster_cpus_list', '4-7'),
      },
      deviceFiles: {
        'cpu_core/cpus': '0-3\n',
        'cpu_atom/cpus': '4-7\n',
        'virtual/memory_tiering/memory_tier22/nodelist': '2\n',
        'system/node/node2/access1/initiators/node0': '->../../../node0',
      },
    }),
    '/proc/driver/nvidia/gpus/0000:01:00.0/numa_status': 'Node: 3\n',
  };
}
