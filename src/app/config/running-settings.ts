import type { NodeView } from '../../core/model/node-view';
import type { Settings } from '../../core/model/settings';
import { confineTopology, joinReadings, machineOf, type Topology } from '../../core/topology';
import type { Config } from './options';
import type { PlaceOf } from './setting';
import { toSettings, type ConfigInForce } from './settings';

/** A reservation as it is asked for: CPUs, or a number of them. */
type AskedReservation = Pick<ConfigInForce, 'reservedCpus' | 'reservedCpuCount' | 'reservedBy'>;

/** Settings that could be taken over. */
export interface DecidedSettings {
  readonly settings: Settings;
  /** Call it when they are in force. */
  readonly take: () => void;
}

/**
 * Decides the settings of a daemon that runs. They do not depend on the CPUs that happen to be online: the machine is
 * all that was seen of it since the start, and a reservation that is asked for as before stays the one that was
 * decided.
 */
export class RunningSettings {
  private machine: Topology;
  private asked: AskedReservation;

  constructor(config: ConfigInForce, topology: Topology) {
    this.machine = machineOf(topology);
    this.asked = reservationOf(config);
  }

  /** These options with the reservation that is in force, whatever they say of it. */
  keepReservation(config: Config): ConfigInForce {
    return { ...config, ...this.asked };
  }

  /** Throws CpusetdError for options that this machine can't have. */
  decide(
    config: ConfigInForce,
    { topology, settings }: Pick<NodeView, 'topology' | 'settings'>,
    placeOf?: PlaceOf,
  ): DecidedSettings {
    const { online } = machineOf(topology);
    this.machine = joinReadings(this.machine, machineOf(topology));
    const asked = reservationOf(config);
    const decided = toSettings(config, confineTopology(this.machine, topology.confinement?.bound), placeOf, {
      settings,
      isSameReservation: isSame(asked, this.asked),
      offline: this.machine.online.minus(online),
    });
    return { settings: decided, take: () => (this.asked = asked) };
  }
}

function reservationOf({ reservedCpus, reservedCpuCount, reservedBy }: ConfigInForce): AskedReservation {
  return { reservedCpus, reservedCpuCount, ...(reservedBy !== undefined && { reservedBy }) };
}

function isSame(a: AskedReservation, b: AskedReservation): boolean {
  const [cpus, others] = [a.reservedCpus, b.reservedCpus];
  if (cpus && others) return cpus.equals(others);
  return cpus === others && a.reservedCpuCount === b.reservedCpuCount;
}
