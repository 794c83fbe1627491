import type { Metrics } from '../../admin/metrics/metrics';
import type { AdminBackend } from '../../admin/model/backend';
import type { LentStatus, QosStatus, UsageStatus } from '../../admin/model/qos-status';
import type { ForeignLoad, PodSource } from '../../admin/model/status';
import { machineOf } from '../../core/topology';
import { readOffline } from '../../host';
import type { LiveOptions } from '../config';
import type { DaemonContext } from '../context';
import { logEvents } from '../journal/event-log';
import { openJournal } from '../journal/open-journal';
import type { OnClose } from '../lifecycle/closers';
import { createAdminBackend } from './admin-backend';
import type { DaemonFacts } from './show-node';
import { AllocationTrace } from './allocation-trace';
import { DriftHistory } from './drift-history';
import type { GapTracker } from './gap-tracker';
import { loadMetrics } from './load-metrics';
import { openRefusals } from './refusal-file';
import type { ContainersWithIdentity } from './show-status';
import { TransactionMetrics } from './transaction-metrics';
import { VerdictStore } from './verdict-store';

export interface StatusParts {
  readonly context: DaemonContext;
  readonly gap: GapTracker;
  readonly identities: ContainersWithIdentity;
  /** Facts of the other rooms. */
  readonly facts: () => Pick<
    DaemonFacts,
    'nodeName' | 'startedAt' | 'version' | 'generation' | 'runtimeName' | 'runtimeVersion' | 'nri' | 'cri'
  >;
  readonly options: Pick<LiveOptions, 'pending'>;
  /** Options in force and the machine, for the journal. */
  readonly settings: () => object;
  readonly onClose: OnClose;
}

/** The parts of this room that others use. */
export interface NodeStatus {
  readonly verdicts: VerdictStore;
  readonly backend: AdminBackend;
  /** Undefined where no address was given for them. */
  readonly metrics: Metrics | undefined;
  /** Status shows these interrupts, which the kernel does not move, from now on. */
  showFixedIrqs(read: () => readonly number[]): void;
  /** Status shows this source of pods from now on. */
  showPodSource(source: () => PodSource): void;
  /**
   * Status shows these from now on; undefined = there is nothing to show. A reader returns the same object while
   * nothing has changed.
   */
  showUsage(read: () => UsageStatus | undefined): void;
  showQos(read: () => QosStatus | undefined): void;
  showLent(read: () => LentStatus | undefined): void;
  /** Status shows these from now on, by the ids of containers. */
  showForeign(loads: ReadonlyMap<string, ForeignLoad>): void;
  /** Tells those who watch the status that some of it may have changed. */
  touch(): void;
}

/** Opens everything that operators see, and lets it follow the daemon's events. */
export async function openStatus({
  context,
  gap,
  identities,
  facts,
  options,
  settings,
  onClose,
}: StatusParts): Promise<NodeStatus> {
  const { config, model, alarms, faults, events, log, now } = context;
  const verdicts = new VerdictStore();
  const drifts = new DriftHistory(() => model.allContainers);
  let foreign: ReadonlyMap<string, ForeignLoad> = new Map();
  const allocations = new AllocationTrace(model, faults);
  const refusals = openRefusals({ stateDir: config.stateDir, model, now, log, onClose });
  let podSource: (() => PodSource) | undefined;
  let fixedIrqs: (() => readonly number[]) | undefined;
  let usage: (() => UsageStatus | undefined) | undefined;
  let qos: (() => QosStatus | undefined) | undefined;
  let lent: (() => LentStatus | undefined) | undefined;
  const backend = createAdminBackend({
    model,
    verdicts,
    drifts,
    foreign: () => foreign,
    identities,
    faults,
    stepsOf: (containerId) => allocations.stepsOf(containerId),
    refused: () => refusals.list(),
    now,
    readOffline: () => readOffline(config.sysfsRoot, machineOf(model.topology).online),
    facts: () => ({
      ...facts(),
      mode: config.mode,
      gap: gap.current,
      alarms: alarms.list(),
      kube: podSource?.(),
      pendingOptions: options.pending,
      fixedIrqs: fixedIrqs?.(),
      usage: usage?.(),
      qos: qos?.(),
      lent: lent?.(),
    }),
  });
  // Loaded only when asked for: nothing of it delays the registration otherwise.
  const metrics = await loadMetrics(config, { status: () => backend.status(), node: model });

  events.on('decided', 'following the gap', ({ reported }) => gap.note(reported));
  events.on('decided', 'keeping the steps', ({ reported }) => allocations.note(reported));
  events.on('committed', 'writing the log', ({ reported }) => logEvents(log, reported));
  events.on('committed', 'remembering refusals', (done) => refusals.note(done));
  const refusalOf: typeof refusals.of = (done) => refusals.of(done);
  openJournal({ context, version: facts().version, settings, refusalOf, gap: () => gap.current, onClose });
  const transactionMetrics = new TransactionMetrics({ model, metrics, alarms, faults });
  events.on('saved', 'following saves', ({ tookMs, problem }) => transactionMetrics.onSaved(tookMs, problem));
  events.on('drifted', 'counting a drift', ({ containerId }) => drifts.noteDrift(containerId, now()));
  events.on('repaired', 'counting a repair', ({ containerId, outcome }) => drifts.noteRepair(containerId, outcome));
  if (metrics) {
    events.on('committed', 'counting for metrics', (done) => transactionMetrics.count(done, refusals.of(done)));
    events.on('drifted', 'counting a drift for metrics', ({ cause }) => metrics.drifted(cause ?? 'unknown-writer'));
    events.on('repaired', 'reporting a repair', ({ outcome }) => metrics.repaired(outcome));
    events.on('gapEnded', 'counting a gap', (ended) => metrics.gapEnded(ended));
    events.on('cpusetUnwatched', 'counting who is not watched', () => metrics.cpusetUnwatched());
  }
  const touch = (): void => backend.feed.touch();
  events.on('changed', 'updating watchers', touch);
  events.on('alarmsChanged', 'updating watchers', touch);
  events.on('turnEnded', 'updating watchers', touch);
  return {
    verdicts,
    backend,
    metrics,
    showFixedIrqs: (read) => (fixedIrqs = read),
    showPodSource: (source) => (podSource = source),
    showUsage: (read) => (usage = read),
    showQos: (read) => (qos = read),
    showLent: (read) => (lent = read),
    showForeign: (loads) => {
      foreign = loads;
      touch();
    },
    touch,
  };
}
