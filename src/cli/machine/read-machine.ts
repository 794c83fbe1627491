import { CpuSet } from '../../core/cpuset';
import type { Topology } from '../../core/topology';
import { readOffline, readTopology, SysfsError } from '../../host';
import { UsageError } from '../context';
import { readTopologies } from './read-topologies';

/** A machine with the CPUs that it has beside those online: a file lists these only. */
export interface WholeMachine {
  readonly topology: Topology;
  readonly offline: CpuSet;
}

/** The machine of an option `--topology`: this one for `live`, or that of a file. Throws UsageError. */
export function readMachine(from: string): Topology {
  return readWholeMachine(from).topology;
}

/** The same with the CPUs that are offline. */
export function readWholeMachine(from: string, sysfsRoot = '/sys'): WholeMachine {
  if (from !== 'live') return { topology: readFromFile(from), offline: CpuSet.empty };
  try {
    const topology = readTopology({ sysfsRoot });
    return { topology, offline: readOffline(sysfsRoot, topology.online) };
  } catch (error) {
    if (error instanceof SysfsError) throw new UsageError(`--topology live: ${error.message}`);
    throw error;
  }
}

function readFromFile(from: string): Topology {
  const machines = [...readTopologies(from, '--topology').values()];
  if (machines.length !== 1)
    throw new UsageError(
      `--topology ${from}: describes ${machines.length} machines, and one is needed; use --topologies for more`,
    );
  return machines[0]!;
}
