import { chooseReserved } from '../core/allocation';
import { CpuSet } from '../core/cpuset';
import { CpusetdError } from '../core/errors';
import type { Settings, StaticPolicyOptions, TopologyManagerSettings } from '../core/model/settings';
import {
  checkStaticPolicyOptions,
  checkTopologyManagerOptions,
  parseStaticPolicyOptions,
  parseTopologyManagerOptions,
  type Parsed,
} from '../core/options';
import type { Topology } from '../core/topology';
import type { Config } from './config';

/** The options that decide placements, checked against the machine. Throws CpusetdError where they don't fit it. */
export function settingsOf(config: Config, topology: Topology): Settings {
  const { topologyManagerPolicy } = config;
  const options = accept(parseStaticPolicyOptions(config.cpuManagerPolicyOptions), '--cpu-manager-policy-options');
  accept(checkStaticPolicyOptions(options, { topology, topologyManagerPolicy }), '--cpu-manager-policy-options');
  return {
    cpuManagerPolicy: config.cpuManagerPolicy,
    options,
    reserved: reservedOf(config, options, topology),
    minSharedCpus: config.minSharedCpus,
    onInsufficientCpu: config.onInsufficientCpu,
    liftCpuQuota: config.liftCpuQuota,
    topologyManager: topologyManagerOf(config, topology),
    memoryNodes: config.memoryNodes,
    podPolicies: config.podPolicies,
  };
}

function topologyManagerOf(
  { topologyManagerPolicy: policy, topologyManagerScope: scope, topologyManagerPolicyOptions }: Config,
  topology: Topology,
): TopologyManagerSettings {
  const flag = '--topology-manager-policy-options';
  const options = accept(parseTopologyManagerOptions(topologyManagerPolicyOptions), flag);
  accept(checkTopologyManagerOptions(options, { policy, numaNodes: topology.numaNodes.length }), flag);
  return { policy, scope, options };
}

function reservedOf(
  { reservedCpus: list, reservedCpuCount: count, cpuManagerPolicy }: Config,
  options: StaticPolicyOptions,
  topology: Topology,
): CpuSet {
  if (list === undefined && count === undefined) return CpuSet.empty; // the config allows it for the policy none
  const chosen = chooseReserved(topology, options, list ? { list } : { count: count ?? 0 });
  const flag = list ? `--reserved-cpus ${list.toString()}` : `--reserved-cpu-count ${count ?? 0}`;
  if (!chosen.ok) throw fault(flag, chosen.error);
  if (cpuManagerPolicy !== 'none' && chosen.reserved.equals(topology.online)) {
    throw fault(
      flag,
      `all ${topology.online.size} online CPUs are reserved, so none could ever be given out; leave at least one`,
    );
  }
  return chosen.reserved;
}

function accept<T>(parsed: Parsed<T>, flag: string): T {
  if (parsed.ok) return parsed.options;
  throw fault(flag, parsed.problem.because);
}

function fault(flag: string, because: string): CpusetdError {
  return new CpusetdError('INVALID_ARGUMENT', `${flag}: ${because}`);
}
