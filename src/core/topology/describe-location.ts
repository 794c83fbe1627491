import { CpuSet } from '../cpuset';
import type { Topology } from './topology';
import type { Unit } from './unit';
import { kindsOf, nameOfCaches } from './describe-units';
import { knownCaches } from './units';
import { plural } from '../text';

/** The location of CPUs: `2 whole cores, NUMA node 0, socket 0`; empty when none of them is online. */
export function describeLocation(topology: Topology, cpus: CpuSet): string {
  const online = cpus.intersect(topology.online);
  if (online.isEmpty) return '';
  const cores = unitsOf(topology.cores, online);
  const whole = cores.filter((core) => core.cpus.isSubsetOf(online)).length;
  const halves = cores.length - whole;
  const kinds = kindsOf(topology, online);
  const caches = knownCaches(topology);
  return [
    ...(whole > 0 ? [plural(whole, 'whole core')] : []),
    ...(halves > 0 ? [plural(halves, 'part of a core', 'parts of cores')] : []),
    ...(kinds.length > 0 ? [`${kinds.join(' and ')} cores`] : []),
    ...(caches.length > 1
      ? [plural(unitsOf(caches, online).length, nameOfCaches(caches.map(({ level }) => level)))]
      : []),
    name('NUMA node', unitsOf(topology.numaNodes, online)),
    name('socket', unitsOf(topology.sockets, online)),
  ].join(', ');
}

function unitsOf(units: readonly Unit[], cpus: CpuSet): Unit[] {
  return units.filter((unit) => unit.cpus.overlaps(cpus));
}

function name(what: string, units: readonly Unit[]): string {
  return `${what}${units.length === 1 ? '' : 's'} ${CpuSet.of(units.map(({ id }) => id)).toString()}`;
}
