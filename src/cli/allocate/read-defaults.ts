import { keyValues } from '../../option-types/cpu-types';
import { quote } from '../../option-types/value-type';
import { CpuListError, CpuSet, parseCpuList } from '../../core/cpuset';
import type { StaticPolicyOptions } from '../../core/model/settings';
import { parseStaticPolicyOptions } from '../../core/options/static-policy-options';
import { UsageError } from '../context';
import type { BatchDefaults } from './answer-line';
import { readMachine } from '../machine/read-machine';
import { readTopologies } from '../machine/read-topologies';

/** The options of `cpusetd allocate`, as texts. */
export interface DefaultsOptions {
  readonly topologies?: string;
  readonly topology?: string;
  readonly options?: string;
  readonly reservedCpus?: string;
}

/** Reads machines and options. Throws UsageError that names the option, the rule and the remedy. */
export function readDefaults({
  topologies,
  topology,
  options = '',
  reservedCpus = '',
}: DefaultsOptions): BatchDefaults {
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

function readOptions(text: string): StaticPolicyOptions {
  const values = keyValues.parse(text);
  if (!values.ok) throw new UsageError(`--options: ${quote(text)} ${values.problem}; ${values.remedy}`);
  const parsed = parseStaticPolicyOptions(values.value);
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
