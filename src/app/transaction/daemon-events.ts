import type { NodeEvent } from '../../core/model/events';
import type { Drift } from '../../core/transition';
import type { Faults } from '../alarms/faults';
import type { Config } from '../config';
import type { SaveProblem, Transaction } from './transaction';

export interface DaemonEventMap {
  /** Events of the runtime or of the API server, before anything is decided on them. */
  readonly arrived: readonly NodeEvent[];
  /** A transaction, before its answer is sent: its listeners delay the answer. */
  readonly decided: Transaction;
  /** A transaction, after its answer was sent. */
  readonly committed: Transaction;
  /** All transactions of a turn were committed, and the first containers that they moved were read back. */
  readonly turnEnded: undefined;
  readonly drifted: Drift & { readonly containerId: string };
  readonly repaired: { readonly containerId: string; readonly outcome: 'ok' | 'failed' };
  /** The runtime did not take a container's cpuset into its record; it is tried again. */
  readonly updateFailed: { readonly containerId: string };
  /** A save has ended, within `tookMs`; `problem` when it failed. */
  readonly saved: { readonly tookMs: number; readonly problem: SaveProblem | undefined };
  /** A gap in which containers could start unseen is over. */
  readonly gapEnded: { readonly seconds: number; readonly containers: number };
  /** A cpuset can't be watched, or its watch has broken. */
  readonly cpusetUnwatched: undefined;
  /** An alarm was raised or is over. */
  readonly alarmsChanged: undefined;
  /** Options were changed without a restart: the parts that follow some of them take these. */
  readonly optionsChanged: Config;
  /** Something that status shows may have changed. */
  readonly changed: undefined;
}

type Kind = keyof DaemonEventMap;
type Listener<K extends Kind> = (event: DaemonEventMap[K]) => void;
type Listeners = { readonly [K in Kind]: { readonly part: string; readonly listener: Listener<K> }[] };

/**
 * Connects the parts of the daemon that cause something with those that show or report it. Listeners of a kind are
 * called at once, in the order of their registration. A listener that throws is reported to `faults`, and the others
 * are called all the same.
 */
export class DaemonEvents {
  private readonly listeners: Listeners = {
    arrived: [],
    decided: [],
    committed: [],
    turnEnded: [],
    drifted: [],
    repaired: [],
    updateFailed: [],
    saved: [],
    gapEnded: [],
    cpusetUnwatched: [],
    alarmsChanged: [],
    optionsChanged: [],
    changed: [],
  };

  constructor(private readonly faults: Pick<Faults, 'contain'>) {}

  /** `part`: the listener's work, as a fault of it is named to the operator, such as `writing the log`. */
  on<K extends Kind>(kind: K, part: string, listener: Listener<K>): void {
    this.listeners[kind].push({ part, listener });
  }

  /** Never throws. */
  emit<K extends Kind>(kind: K, ...[event]: DaemonEventMap[K] extends undefined ? [] : [DaemonEventMap[K]]): void {
    for (const { part, listener } of this.listeners[kind])
      this.faults.contain(part, () => listener(event as DaemonEventMap[K]));
  }
}
