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

/** Settings that are in force while others are decided. */
export interface Running {
  readonly settings: Settings;
  /** True when the same reservation is asked for as was decided. */
  readonly isSameReservation: boolean;
  /** CPUs that the topology has and that are not online now. */
  readonly offline: CpuSet;
}

/**
 * The options that decide placements, checked against the machine. Throws CpusetdError where they don't fit it;
 * `placeOf` names the place where the option at fault was set. What is in force already is not checked or chosen again:
 * the machine was another then.
 */
export function toSettings(
  config: ConfigInForce,
  topology: Topology,
  placeOf: PlaceOf = flagOf,
  running?: Running,
): Settings {
  const place = placeOf('cpu-manager-policy-options');
  const options = accept(parseStaticPolicyOptions(config.cpuManagerPolicyOptions), place);
  const topologyManager = topologyManagerOf(config, placeOf('topology-manager-policy-options'));
  const checked = { options, topologyManager };
  if (!running || !areSame(limitedByMachine(checked), limitedByMachine(running.settings)))
    checkOnMachine(checked, topology, placeOf);
  return {
    cpuManagerPolicy: config.cpuManagerPolicy,
    options,
    reserved: reservedOf(config, options, topology, placeOf, running),
    minSharedCpus: config.minSharedCpus,
    onInsufficientCpu: config.onInsufficientCpu,
    liftCpuQuota: config.liftCpuQuota,
    topologyManager,
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
  place: string,
): TopologyManagerSettings {
  return { policy, scope, options: accept(parseTopologyManagerOptions(topologyManagerPolicyOptions), place) };
}

/** The options that a machine may forbid. */
function limitedByMachine({
  options,
  topologyManager,
}: Pick<Settings, 'options' | 'topologyManager'>): readonly unknown[] {
  return [options.alignBySocket, topologyManager?.policy, topologyManager?.options];
}

function checkOnMachine(
  { options, topologyManager }: Required<Pick<Settings, 'options' | 'topologyManager'>>,
  topology: Topology,
  placeOf: PlaceOf,
): void {
  const { policy } = topologyManager;
  accept(
    checkStaticPolicyOptions(options, { topology, topologyManagerPolicy: policy }),
    placeOf('cpu-manager-policy-options'),
  );
  accept(
    checkTopologyManagerOptions(topologyManager.options, { policy, numaNodes: topology.numaNodes.length }),
    placeOf('topology-manager-policy-options'),
  );
}

function reservedOf(
  config: ConfigInForce,
  options: StaticPolicyOptions,
  topology: Topology,
  placeOf: PlaceOf,
  running: Running | undefined,
): CpuSet {
  const { reservedCpus: list, reservedCpuCount: count, reservedBy } = config;
  if (list === undefined && count === undefined) return CpuSet.empty; // the config allows it where no policy gives out CPUs
  const decided = running?.isSameReservation === true ? running.settings.reserved : undefined;
  if (decided && canPin(running!.settings)) return decided;
  const held = running && { reserved: running.settings.reserved, offline: running.offline };
  const chosen = decided
    ? { ok: true as const, reserved: decided }
    : chooseReserved(topology, options, list ? { list } : { count: count ?? 0 }, held);
  const place = reservedBy ?? placeOf(list ? 'reserved-cpus' : 'reserved-cpu-count', { withText: true });
  if (!chosen.ok) throw fault(place, chosen.error);
  const { online } = machineOf(topology);
  if (canPin(config) && online.isSubsetOf(chosen.reserved)) {
    const kind = running?.offline.isEmpty === false ? '' : 'online ';
    throw fault(
      place,
      `${online.size === 1 ? `the only ${kind}CPU is` : `all ${online.size} ${kind}CPUs are`} reserved, so none could ever be given out; leave at least one`,
    );
  }
  return chosen.reserved;
}

function areSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function accept<T>(parsed: Parsed<T>, place: string): T {
  if (parsed.ok) return parsed.options;
  throw fault(place, parsed.problem.because);
}

function fault(place: string, because: string): CpusetdError {
  return new CpusetdError('INVALID_ARGUMENT', `${place}: ${because}`);
}
