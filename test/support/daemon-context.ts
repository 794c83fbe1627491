import { pino } from 'pino';
import { HealthState } from '../../src/admin/health-state';
import { Alarms } from '../../src/app/alarms/alarms';
import { Faults } from '../../src/app/alarms/faults';
import type { Config } from '../../src/app/config';
import type { DaemonContext } from '../../src/app/context';
import { DriftDiagnosis } from '../../src/app/reconcile/drift-diagnosis';
import { Reconciler, type ReconcilerParts } from '../../src/app/reconcile/reconciler';
import { VerdictStore } from '../../src/app/status/verdict-store';
import { DaemonEvents } from '../../src/app/transaction/daemon-events';
import type { NodeView } from '../../src/core/model/node-view';
import type { Cgroups } from '../../src/host';
import { containerCgroups } from './container-cgroups';

const silent = pino({ level: 'silent' });

/** A context over this model. By default it logs nothing, writes cgroups, and never ends. */
export function contextOf(
  given: Partial<Omit<DaemonContext, 'config' | 'cgroups'>> & {
    readonly model: NodeView;
    readonly cgroups: Cgroups;
    readonly writes?: boolean;
    readonly config?: object;
  },
): DaemonContext {
  const { log = silent, now = () => '2026-01-01T00:00:00Z' } = given;
  const alarms = given.alarms ?? new Alarms({ log, now, onChange: () => undefined });
  const faults = given.faults ?? new Faults({ log, alarms });
  return {
    health: new HealthState(),
    events: new DaemonEvents(faults),
    signal: new AbortController().signal,
    ...given,
    config: (given.config ?? {}) as Config,
    cgroups: containerCgroups(given.cgroups, given.model, { canWrite: given.writes ?? true, log }),
    log,
    now,
    alarms,
    faults,
  };
}

/** A reconciler in this context. By default there is no kubelet with the static policy, and no CRI connection. */
export function reconcilerOf(
  context: DaemonContext,
  given: Pick<ReconcilerParts, 'transactor'> & Partial<ReconcilerParts>,
): Reconciler {
  const { model, cgroups } = context;
  return new Reconciler({
    context,
    verdicts: new VerdictStore(),
    diagnosis: new DriftDiagnosis({ model, cgroups, hasStaticKubelet: () => false, listProcessNames: () => new Set() }),
    runtime: { resynchronize: () => undefined },
    ...given,
  });
}
