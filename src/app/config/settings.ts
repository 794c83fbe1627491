import { chooseReserved } from '../../core/allocation';
import { CpuSet } from '../../core/cpuset';
import { CpusetdError } from '../../core/errors';
import {
  canPin,
  type Settings,
  type StaticPolicyOptions,
  type TopologyManagerSettings,
} from '../../core/model/settings';
import { checkStaticPolicyOptions, parseStaticPolicyOptions } from '../../core/options/static-policy-options';
import { checkTopologyManagerOptions, parseTopologyManagerOptions } from '../../core/options/topology-manager-options';
import type { Parsed } from '../../core/options/problem';
import { machineOf, type Topology } from '../../core/topology';
import type { Config } from './options';
import type { PlaceOf } from './setting';

const flagOf: PlaceOf = (name) => `--${name}`;

/** The configuration with the reservation that is in force. */
export interface ConfigInForce extends Config {
  /** The owner of the reservation, for messages, where it is not our own. */
  readonly reservedBy?: string;
}

/**
 * The options that decide placements, checked against the machine. Throws CpusetdError where they don't fit it; `placeOf` names
 * the place where the option at fault was set.
 */
export function toSettings(config: ConfigInForce, topology: Topology, placeOf: PlaceOf = flagOf): Settings {
  const { topologyManagerPolicy } = config;
  const place = placeOf('cpu-manager-policy-options');
  const options = accept(parseStaticPolicyOptions(config.cpuManagerPolicyOptions), place);
  accept(checkStaticPolicyOptions(options, { topology, topologyManagerPolicy }), place);
  return {
    cpuManagerPolicy: config.cpuManagerPolicy,
    options,
    reserved: reservedOf(config, options, topology, placeOf),
    minSharedCpus: config.minSharedCpus,
    onInsufficientCpu: config.onInsufficientCpu,
    liftCpuQuota: config.liftCpuQuota,
    topologyManager: topologyManagerOf(config, topology, placeOf('topology-manager-policy-options')),
    memoryNodes: config.memoryNodes,
    memoryNodesWithoutCpus: config.memoryNodesWithoutCpus,
    podPolicies: config.podPolicies,
    leaveAlone: config.leaveAlone,
    podLeaveAlone: config.podLeaveAlone,
    leftAloneStart: config.leftAloneStart,
    ...(config.cpuIdentity && { cpuIdentity: true }),
  };
}

function topologyManagerOf(
  { topologyManagerPolicy: policy, topologyManagerScope: scope, topologyManagerPolicyOptions }: Config,
  topology: Topology,
  place: string,
): TopologyManagerSettings {
  const options = accept(parseTopologyManagerOptions(topologyManagerPolicyOptions), place);
  accept(checkTopologyManagerOptions(options, { policy, numaNodes: topology.numaNodes.length }), place);
  return { policy, scope, options };
}

function reservedOf(
  { reservedCpus: list, reservedCpuCount: count, reservedBy, cpuManagerPolicy, podPolicies }: ConfigInForce,
  options: StaticPolicyOptions,
  topology: Topology,
  placeOf: PlaceOf,
): CpuSet {
  if (list === undefined && count === undefined) return CpuSet.empty; // the config allows it where no policy gives out CPUs
  const chosen = chooseReserved(topology, options, list ? { list } : { count: count ?? 0 });
  const place = reservedBy ?? placeOf(list ? 'reserved-cpus' : 'reserved-cpu-count', { withText: true });
  if (!chosen.ok) throw fault(place, chosen.error);
  const { online } = machineOf(topology);
  if (canPin({ cpuManagerPolicy, podPolicies }) && chosen.reserved.equals(online)) {
    throw fault(
      place,
      `${online.size === 1 ? 'the only online CPU is' : `all ${online.size} online CPUs are`} reserved, so none could ever be given out; leave at least one`,
    );
  }
  return chosen.reserved;
}

function accept<T>(parsed: Parsed<T>, place: string): T {
  if (parsed.ok) return parsed.options;
  throw fault(place, parsed.problem.because);
}

function fault(place: string, because: string): CpusetdError {
  return new CpusetdError('INVALID_ARGUMENT', `${place}: ${because}`);
}
