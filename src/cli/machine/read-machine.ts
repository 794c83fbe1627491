import type { Topology } from '../../core/topology';
import { readTopology, SysfsError } from '../../host';
import { UsageError } from '../context';
import { readTopologies } from './read-topologies';

/** The machine of an option `--topology`: this one for `live`, or that of a file. Throws UsageError. */
export function readMachine(from: string): Topology {
  if (from === 'live') {
    try {
      return readTopology({ sysfsRoot: '/sys' });
    } catch (error) {
      if (error instanceof SysfsError) throw new UsageError(`--topology live: ${error.message}`);
      throw error;
    }
  }
  const machines = [...readTopologies(from, '--topology').values()];
  if (machines.length !== 1)
    throw new UsageError(
      `--topology ${from}: describes ${machines.length} machines, and one is needed; use --topologies for more`,
    );
  return machines[0]!;
}
