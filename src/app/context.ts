import type { Logger } from 'pino';
import type { HealthState } from '../admin/health-state';
import type { NodeView } from '../core/model/node-view';
import type { Alarms } from './alarms/alarms';
import type { Faults } from './alarms/faults';
import type { ContainerCgroups } from './cgroups/container-cgroups';
import type { Config } from './config';
import type { DaemonEvents } from './transaction/daemon-events';

/**
 * The parts of the daemon that most of the others use. A field belongs here only when more than half of the rooms need
 * it.
 */
export interface DaemonContext {
  /** With the kubelet's reservation, where the operator set none. */
  readonly config: Config;
  readonly model: NodeView;
  readonly cgroups: ContainerCgroups;
  readonly health: HealthState;
  readonly alarms: Alarms;
  readonly faults: Faults;
  readonly events: DaemonEvents;
  readonly log: Logger;
  /** The clock, RFC 3339. */
  readonly now: () => string;
  /** Aborted when the daemon has to end: no part begins anything after that. */
  readonly signal: AbortSignal;
}
