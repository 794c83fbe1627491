import { join } from 'node:path';
import { CpuSet } from '../../core/cpuset';
import { groupByList } from './group-by-list';
import type { Ignored } from './ignored';
import { numberGroups, type Group } from './number-groups';
import { parseInteger, readOptional } from './read-file';

/**
 * The socket of each CPU: CPUs that the kernel lists together. The kernel's number is only its name, since it is -1
 * ("unknown") on s390, POWER, z/VM and some ARM machines, and repeats where sockets lie in books. CPUs without a list
 * are one socket for each number.
 */
export function readSockets(cpuRoot: string, online: CpuSet, ignored: Ignored): Map<number, number> {
  const listed = groupByList(
    online,
    {
      what: 'socket',
      // core_siblings_list is the name of package_cpus_list before Linux 5.3.
      pathsOf: (cpu) =>
        ['package_cpus_list', 'core_siblings_list'].map((name) => join(cpuRoot, `cpu${cpu}/topology/${name}`)),
    },
    ignored,
  );
  const rest = online.minus(CpuSet.unionOf(listed.map(({ cpus }) => cpus)));
  const groups = [
    ...listed.map(({ cpus }) => ({ cpus, id: readPackage(cpuRoot, cpus.first!, ignored) })),
    ...groupByNumber(cpuRoot, rest, ignored),
  ];
  const numbers = numberGroups(groups);
  return new Map(groups.flatMap(({ cpus }, i) => [...cpus].map((cpu) => [cpu, numbers[i]!] as const)));
}

function groupByNumber(cpuRoot: string, cpus: CpuSet, ignored: Ignored): Group[] {
  const groups = new Map<number | undefined, number[]>();
  for (const cpu of cpus) {
    const id = readPackage(cpuRoot, cpu, ignored);
    groups.set(id, [...(groups.get(id) ?? []), cpu]);
  }
  // A machine with one nameless socket calls it 0.
  return [...groups].map(([id, ids]) => ({ cpus: CpuSet.of(ids), id: id ?? (groups.size === 1 ? 0 : undefined) }));
}

/** Undefined when it is unknown. */
function readPackage(cpuRoot: string, cpu: number, ignored: Ignored): number | undefined {
  const path = join(cpuRoot, `cpu${cpu}/topology/physical_package_id`);
  const read = (): number => {
    const text = readOptional(path);
    return text === undefined ? -1 : parseInteger(path, text, -1);
  };
  const id = ignored.attempt(read, -1, 'the number of this socket is not known');
  return id === -1 ? undefined : id;
}
