import { once } from 'node:events';
import type { HealthState } from '../admin/health-state';
import type { Alarms } from './alarms/alarms';
import type { DriftWatch } from './reconcile/drift-watch';
import type { Faults } from './alarms/faults';
import type { KubeletManager } from './node/kubelet-cpu-manager';
import type { OnlineCpus } from './node/cpu-hotplug';
import { pause, repeat } from './lifecycle/repeat';
import type { Reconciler } from './reconcile/reconciler';
import { RoundWatch } from './reconcile/round-watch';
import { giveSignOfLife } from './lifecycle/heartbeat';

export interface RoundsParts {
  readonly onlineCpus: OnlineCpus;
  readonly kubelet: KubeletManager;
  readonly watch: DriftWatch;
  readonly reconciler: Reconciler;
  readonly health: Pick<HealthState, 'set'>;
  readonly alarms: Alarms;
  readonly faults: Faults;
  /** Carries the sign of life. */
  readonly lockPath: string;
  /** The pause between two rounds over everything. */
  readonly periodMs: number;
  readonly signal: AbortSignal;
}

/** Hotplug is noticed within this time; asking costs one small file. */
const ONLINE_PERIOD_MS = 1_000;
/** At the end a round under way gets so long; one that is stuck keeps nothing from its end. */
const LAST_ROUND_MS = 5_000;

/**
 * Looks after everything again and again, and at the online CPUs more often, until the signal is aborted. A part of a round
 * that throws keeps no other part from its turn, and ends no round. One that never ends is noticed.
 */
export async function makeRounds(parts: RoundsParts): Promise<void> {
  const { onlineCpus, kubelet, watch, reconciler, faults, lockPath, periodMs, signal } = parts;
  const roundWatch = new RoundWatch(parts);
  const live = (): void => faults.contain('giving a sign of life', () => giveSignOfLife(lockPath, Date.now()));
  const followOnlineCpus = (): Promise<void> =>
    faults.containAsync('following the online CPUs', async () => {
      if (onlineCpus.check()) await reconciler.checkAll();
    });
  const round = async (): Promise<void> => {
    live();
    faults.contain('looking at the kubelet', () => kubelet.look());
    await followOnlineCpus();
    faults.contain('watching again', () => watch.tryAgain());
    await faults.containAsync('the round over all containers', () => reconciler.round());
    roundWatch.noteEnd();
  };
  const all = Promise.all([
    repeat(round, { periodMs, signal }),
    repeat(followOnlineCpus, { periodMs: ONLINE_PERIOD_MS, signal }),
  ]);
  const ended = new AbortController();
  await Promise.race([all.finally(() => ended.abort()), patience(signal, ended.signal)]);
  live();
}

/** Resolves some time after the daemon is to end, unless everything has ended by then. */
async function patience(signal: AbortSignal, ended: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
  await pause(LAST_ROUND_MS, ended);
}
