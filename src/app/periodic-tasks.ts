import { once } from 'node:events';
import type { DaemonContext } from './context';
import { writeHeartbeat } from './lifecycle/heartbeat';
import { pause } from '../net/pause';
import type { CpuIdentities } from './identity/cpu-identities';
import { Period, repeat } from './lifecycle/repeat';
import type { Watchdog } from './lifecycle/watchdog';
import type { KubeletCpuManagerWatch } from './node/kubelet-cpu-manager';
import type { MachineWatch } from './node/machine-watch';
import { showSetAside } from './owed-effects/set-aside';
import type { DriftWatch } from './reconcile/drift-watch';
import type { Reconciler } from './reconcile/reconciler';
import { RoundWatch } from './reconcile/round-watch';

export interface PeriodicTasksParts {
  readonly context: DaemonContext;
  readonly machine: MachineWatch;
  readonly manager: KubeletCpuManagerWatch;
  readonly identities: Pick<CpuIdentities, 'round'>;
  readonly watch: DriftWatch;
  readonly reconciler: Reconciler;
  /** The lock file: its time is the sign of life. */
  readonly lockPath: string;
  /** Undefined when systemd watches nothing. */
  readonly watchdog?: Pick<Watchdog, 'follow' | 'noteEnd'> | undefined;
}

/** Hotplug and other CPUs of the pods' cgroups are noticed within this time; asking costs some small files. */
const MACHINE_PERIOD_MS = 1_000;
/** Maximum time for the round under way when the daemon ends: a round that is stuck delays nothing else. */
const LAST_ROUND_MS = 5_000;

/**
 * Runs a round over everything in each period, and checks the usable CPUs more often, until the signal is aborted. A
 * part of a round that throws ends neither the other parts nor the round. A round that never ends is an alarm, and
 * starves the watchdog.
 */
export async function runPeriodicTasks(parts: PeriodicTasksParts, signal: AbortSignal): Promise<void> {
  const { context, machine, manager, identities, watch, reconciler, lockPath, watchdog } = parts;
  const { faults } = context;
  const period = new Period(context.config.reconcilePeriodMs);
  const roundWatch = new RoundWatch({ ...context, periodMs: period.ms, signal });
  context.events.on('optionsChanged', 'following the reconcile period', ({ reconcilePeriodMs }) => {
    period.change(reconcilePeriodMs);
    roundWatch.follow(reconcilePeriodMs);
    watchdog?.follow(reconcilePeriodMs);
  });
  const live = (): void => faults.contain('giving a sign of life', () => writeHeartbeat(lockPath, Date.now()));
  const followMachine = (): Promise<void> =>
    faults.containAsync('following the machine', async () => {
      if (machine.check()) await reconciler.checkAll();
    });
  const tick = async (): Promise<void> => {
    live();
    faults.contain('looking at the kubelet', () => manager.look());
    await followMachine();
    faults.contain('watching again', () => watch.tryAgain());
    await faults.containAsync('the round over all containers', () => reconciler.round());
    faults.contain('the round over CPU identities', () => identities.round());
    faults.contain('looking at notes that were set aside', () => showSetAside(context.config.stateDir, context.alarms));
    roundWatch.noteEnd();
    faults.contain('feeding the watchdog', () => watchdog?.noteEnd());
  };
  const all = Promise.all([
    repeat(tick, { period, signal }),
    repeat(followMachine, { period: new Period(MACHINE_PERIOD_MS), signal }),
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
