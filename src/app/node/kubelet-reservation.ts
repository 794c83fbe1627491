import type { Logger } from 'pino';
import { CpuListError, parseCpuList, tryParseCpuList } from '../../core/cpuset';
import { CpusetdError } from '../../core/errors';
import type { NodeView } from '../../core/model/node-view';
import type { Settings } from '../../core/model/settings';
import { changeSettings } from '../../core/transition';
import type { KubeletConfig } from '../../kube';
import type { Alarms } from '../alarms/alarms';
import type { Config } from '../config';
import type { RunningSettings } from '../config/running-settings';
import type { ConfigInForce } from '../config/settings';
import type { DaemonContext } from '../context';
import type { Transactor } from '../transaction/transactor';
import type { KubeletCpuManagerWatch } from './kubelet-cpu-manager';
import { hasReservation, rememberKubeletConfig } from './kubelet-config-cache';

export interface KubeletParts {
  readonly context: DaemonContext;
  readonly transactor: Pick<Transactor, 'change'>;
  /** The operator's options, without the kubelet's reservation. */
  readonly given: () => Config;
  readonly rules: RunningSettings;
  readonly manager: KubeletCpuManagerWatch;
}

/** The configuration of this node's kubelet as it is known now, and all that follows from it here. */
export class Kubelet {
  /** Called when its configuration has come. */
  onAccept: () => void = () => undefined;
  private known: KubeletConfig | undefined;

  constructor(private readonly parts: KubeletParts) {}

  get config(): KubeletConfig | undefined {
    return this.known;
  }

  get isStatic(): boolean {
    return this.parts.manager.isStatic;
  }

  /** These options with its reservation, where they have none. */
  withReservation(config: Config): ConfigInForce {
    return withReservation(config, this.known);
  }

  /** Takes over a configuration; a fault of ours is contained. */
  accept(found: KubeletConfig): void {
    const { context, given, manager } = this.parts;
    context.faults.contain('taking over the kubelet’s configuration', () => {
      this.known = found;
      manager.noteConfig(found.cpuManagerPolicy);
      if (given().kubeletConfig?.kind === 'configz') rememberKubeletConfig(given(), found, context.log);
      this.adoptAgain();
      this.onAccept();
    });
  }

  /**
   * Options or the machine have changed: a reservation that could not be taken over may fit now, and the alarm says how
   * both differ.
   */
  adoptAgain(): void {
    const { context, transactor, given, rules } = this.parts;
    const { model, alarms, log } = context;
    if (this.known) adoptReservation({ given: given(), found: this.known, rules, model, transactor, alarms, log });
  }
}

/**
 * The options with the kubelet's reservation where there is none of our own. While it is not known one CPU is kept for
 * the system: pinning does not wait for the API server.
 */
export function withReservation(config: Config, kubelet: KubeletConfig | undefined): ConfigInForce {
  if (hasReservation(config) || config.kubeletConfig === undefined) return config;
  if (kubelet?.reservedSystemCpus !== undefined) {
    try {
      const list = kubelet.reservedSystemCpus;
      return { ...config, reservedCpus: parseCpuList(list), reservedBy: `the kubelet's reservedSystemCPUs ${list}` };
    } catch (error) {
      if (!(error instanceof CpuListError)) throw error;
      throw new CpusetdError(
        'INVALID_ARGUMENT',
        `the kubelet's reservedSystemCPUs can't be used: ${error.message}; correct it there`,
      );
    }
  }
  const milliCpu = kubelet?.reservedMilliCpu ?? 0;
  const reservedBy = kubelet
    ? `the kubelet's kubeReserved and systemReserved of ${milliCpu}m CPU`
    : "the CPU that is kept until the kubelet's reservation is known";
  return { ...config, reservedCpuCount: Math.max(1, Math.ceil(milliCpu / 1000)), reservedBy };
}

/** The difference between the kubelet's reservation and ours, in words; undefined when both agree. */
function compareReservation({ reserved }: Settings, kubelet: KubeletConfig): string | undefined {
  const ours = reserved.isEmpty ? 'nothing' : `CPUs ${reserved.toString()}`;
  const advice = 'the scheduler counts by the kubelet’s reservation; set both alike';
  const { reservedSystemCpus: list, reservedMilliCpu } = kubelet;
  if (list !== undefined) {
    const theirs = tryParseCpuList(list);
    if (theirs?.equals(reserved)) return undefined;
    return `the kubelet reserves CPUs ${list}, cpusetd ${ours}: ${advice}`;
  }
  const count = Math.ceil(reservedMilliCpu / 1000);
  if (count === reserved.size) return undefined;
  return `the kubelet reserves ${reservedMilliCpu}m CPU, cpusetd ${ours}: ${advice}`;
}

/**
 * Takes over the kubelet's reservation, or raises an alarm that says how it differs from our own. A reservation that
 * this machine can't have is an alarm too; throws for a fault of our own.
 */
export function adoptReservation(parts: {
  readonly given: Config;
  readonly found: KubeletConfig;
  readonly rules: RunningSettings;
  readonly model: NodeView;
  readonly transactor: Pick<Transactor, 'change'>;
  readonly alarms: Alarms;
  readonly log: Logger;
}): void {
  const { given, found, rules, model, transactor, alarms, log } = parts;
  let because: string | undefined;
  if (!hasReservation(given)) {
    try {
      const { settings, take } = rules.decide(withReservation(given, found), model);
      if (!settings.reserved.equals(model.settings.reserved)) {
        transactor.change((draft) => changeSettings(draft, settings));
        log.info({ reserved: settings.reserved.toString() }, 'the reservation is the kubelet’s');
      }
      take();
    } catch (error) {
      if (!(error instanceof CpusetdError)) throw error;
      because = `the kubelet's reservation can't be taken over: ${error.message}`;
    }
  }
  alarms.update('kubelet-reservation', '', because ?? compareReservation(model.settings, found));
}
