import type { NodeView } from '../core/model/node-model';
import type { KubeletManager } from './kubelet-manager';
import type { OnlineCpus } from './online-cpus';
import { repeat } from './periodic';
import type { Reconciler } from './reconciler';
import { giveSignOfLife } from './sign-of-life';

export interface RoundsParts {
  readonly model: NodeView;
  readonly onlineCpus: OnlineCpus;
  readonly kubelet: KubeletManager;
  readonly reconciler: Reconciler;
  /** Carries the sign of life. */
  readonly lockPath: string;
  /** The pause between two rounds over everything. */
  readonly periodMs: number;
  readonly signal: AbortSignal;
}

/** Hotplug is noticed within this time; asking costs one small file. */
const ONLINE_PERIOD_MS = 1_000;

/** Looks after everything again and again, and at the online CPUs more often, until the signal is aborted. */
export async function makeRounds(parts: RoundsParts): Promise<void> {
  const { model, onlineCpus, kubelet, reconciler, lockPath, periodMs, signal } = parts;
  const followOnlineCpus = (): void => {
    if (onlineCpus.check()) reconciler.check([...model.containers.keys()]);
  };
  const round = async (): Promise<void> => {
    giveSignOfLife(lockPath, Date.now());
    kubelet.look();
    followOnlineCpus();
    await reconciler.round();
  };
  await Promise.all([
    repeat(round, { periodMs, signal }),
    repeat(followOnlineCpus, { periodMs: ONLINE_PERIOD_MS, signal }),
  ]);
  giveSignOfLife(lockPath, Date.now());
}
