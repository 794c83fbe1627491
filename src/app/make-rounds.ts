import type { NodeView } from '../core/model/node-model';
import type { DriftWatch } from './drift-watch';
import type { Faults } from './faults';
import type { KubeletManager } from './kubelet-manager';
import type { OnlineCpus } from './online-cpus';
import { repeat } from './periodic';
import type { Reconciler } from './reconciler';
import { giveSignOfLife } from './sign-of-life';

export interface RoundsParts {
  readonly model: NodeView;
  readonly onlineCpus: OnlineCpus;
  readonly kubelet: KubeletManager;
  readonly watch: DriftWatch;
  readonly reconciler: Reconciler;
  readonly faults: Faults;
  /** Carries the sign of life. */
  readonly lockPath: string;
  /** The pause between two rounds over everything. */
  readonly periodMs: number;
  readonly signal: AbortSignal;
}

/** Hotplug is noticed within this time; asking costs one small file. */
const ONLINE_PERIOD_MS = 1_000;

/**
 * Looks after everything again and again, and at the online CPUs more often, until the signal is aborted. A part of a round
 * that throws keeps no other part from its turn, and ends no round.
 */
export async function makeRounds(parts: RoundsParts): Promise<void> {
  const { model, onlineCpus, kubelet, watch, reconciler, faults, lockPath, periodMs, signal } = parts;
  const live = (): void => faults.contain('giving a sign of life', () => giveSignOfLife(lockPath, Date.now()));
  const followOnlineCpus = (): void =>
    faults.contain('following the online CPUs', () => {
      if (onlineCpus.check()) reconciler.check([...model.containers.keys()]);
    });
  const round = async (): Promise<void> => {
    live();
    faults.contain('looking at the kubelet', () => kubelet.look());
    followOnlineCpus();
    faults.contain('watching again', () => watch.tryAgain());
    await faults.containAsync('the round over all containers', () => reconciler.round());
  };
  await Promise.all([
    repeat(round, { periodMs, signal }),
    repeat(followOnlineCpus, { periodMs: ONLINE_PERIOD_MS, signal }),
  ]);
  live();
}
