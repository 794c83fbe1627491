import { CpuListError, CpuSet, parseCpuList } from '../../core/cpuset';
import { parseStaticPolicyOptions } from '../../core/options';
import { UsageError } from '../context';
import type { BatchGround } from './answer-line';
import { readMachine } from '../machine/read-machine';
import { readTopologies } from '../machine/read-topologies';

/** The options of `cpusetd allocate`, as they were written. */
export interface GroundOptions {
  readonly topologies?: string;
  readonly topology?: string;
  readonly options?: string;
  readonly reservedCpus?: string;
}

/** Reads what the lines are about. Throws UsageError that names the option, the rule and the remedy. */
export function readGround({ topologies, topology, options = '', reservedCpus = '' }: GroundOptions): BatchGround {
  if (topologies === undefined && topology === undefined) {
    throw new UsageError(
      'no machine is given; name a file of machines with --topologies, or one with --topology FILE or --topology live',
    );
  }
  const machine = topology === undefined ? undefined : readMachine(topology);
  return {
    topologies: topologies === undefined ? new Map() : readTopologies(topologies),
    ...(machine && { topology: machine }),
    options: readOptions(options),
    reserved: readReserved(reservedCpus),
  };
}

function readOptions(text: string) {
  const values = new Map<string, string>();
  for (const part of text.split(',').filter((each) => each.trim() !== '')) {
    const [name = '', value] = part.split('=', 2).map((each) => each.trim());
    if (value === undefined)
      throw new UsageError(`--options ${text}: ${name} has no value; write name=value, separated by commas`);
    values.set(name, value);
  }
  const parsed = parseStaticPolicyOptions(values);
  if (!parsed.ok) throw new UsageError(`--options ${text}: ${parsed.problem.because}`);
  return parsed.options;
}

function readReserved(text: string): CpuSet {
  try {
    return parseCpuList(text);
  } catch (error) {
    if (error instanceof CpuListError) throw new UsageError(`--reserved-cpus: ${error.message}`);
    throw error;
  }
}
