import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { CpusetdError } from '../core/errors';
import type { ApiServer, ApiServerParts } from './apiserver/api-server';
import { bootstrap, describeNode } from './bootstrap';
import { LiveOptions, type Loaded } from './config';
import { withClosers } from './lifecycle/closers';
import { notifyServiceManager } from './lifecycle/notify-service-manager';
import { sendToSystemd, type Systemd } from './lifecycle/systemd';
import { TaskGroup } from './lifecycle/task-group';
import { Watchdog, type WatchdogParts } from './lifecycle/watchdog';
import { FollowedLabels } from './node/followed-labels';
import { KubeletCpuManagerWatch } from './node/kubelet-cpu-manager';
import { Kubelet, withReservation } from './node/kubelet-reservation';
import { MachineWatch } from './node/machine-watch';
import { runPeriodicTasks } from './periodic-tasks';
import { openReconciliation } from './reconcile/open-reconciliation';
import { ConfigFileWatch } from './reload/config-file-watch';
import { isOwed, OWED } from './owed-effects/owed';
import type { CpuUpdate } from './qos/quota-writer';
import { Reloader, type ReloaderParts } from './reload/reloader';
import { attachRuntime } from './runtime/attach-runtime';
import type { Attachment } from './runtime/attachment';
import { RuntimeClient } from './runtime/runtime-client';
import { openListeners, startAdminEndpoints } from './status/admin-endpoints';
import { countPromises } from './status/count-promises';
import { openGap } from './status/gap-tracker';
import { openStatus } from './status/open-status';

export interface DaemonOptions {
  readonly loaded: Loaded;
  /** Has an event `hangup` when the options are to be read again. */
  readonly hangup: EventTarget;
  readonly version: string;
  readonly log: Logger;
  /** Undefined when systemd has not started us, or not as a service of type notify. */
  readonly systemd?: Systemd | undefined;
  /** Ends the daemon: the runtime's socket is closed first, then everything else in the order of its opening, reversed. */
  readonly signal: AbortSignal;
}

/** Maximum time the admin socket waits for a runtime that accepts us and then is silent. */
const FIRST_CONTACT_MS = 1_000;

/** Runs until the signal is aborted. Throws CpusetdError or HostError when it can't start. */
export async function runDaemon(options: DaemonOptions): Promise<void> {
  const { version, log, systemd } = options;
  const loaded = await withLabels(options);
  const live = new LiveOptions(loaded);
  const tasks = new TaskGroup(options.signal);
  const { signal } = tasks;
  await withClosers(async (onClose) => {
    const startedAt = new Date().toISOString();
    log.info({ version, ...live.inForce }, 'starting with these options');
    const { context, transactor, store, identities, rules, ...start } = await bootstrap({
      ...loaded,
      version,
      log,
      signal,
      onClose,
    });
    const { config, model, health, alarms } = context;
    const listeners = await openListeners(config, { log, onClose });
    const service = config.mode === 'nri' ? 'nri' : 'cri';
    if (systemd) notifyServiceManager({ ...systemd, health, service, log, signal });

    const machine = new MachineWatch({ context, transactor, kubelet: start.kubeletConfig });
    context.events.on('arrived', 'following the machine', (events) => machine.meet(events));
    const client = new RuntimeClient({ context, transactor });
    onClose(() => client.close());
    const gap = openGap(context, start.aliveMs ?? Date.parse(startedAt));
    const { attachment, ...runtime } = await attachRuntime({ context, transactor, client, gap });
    const facts = () => ({
      nodeName: loaded.node.name,
      startedAt,
      version,
      generation: store.generation,
      ...attachment.facts,
    });
    const { verdicts, ...status } = await openStatus({
      context,
      gap,
      facts,
      options: live,
      identities,
      settings: () => ({ ...live.inForce, machine: describeNode(model) }),
      onClose,
    });
    context.events.on('turnEnded', 'telling containers their CPUs', identities.follow);
    if (!store.isWritable) transactor.trySaving(); // an alarm from the start, not from the first refusal on

    const manager = new KubeletCpuManagerWatch(config.kubeletRootDir, alarms);
    const hasStaticKubelet = (): boolean => manager.isActive;
    const isOwnUpdate = (containerId: string): boolean => client.recordSync.isUpdating(containerId);
    const reconciliation = openReconciliation({
      context,
      transactor,
      verdicts,
      runtime,
      isOwnUpdate,
      hasStaticKubelet,
    });
    onClose(() => reconciliation.watch.close());
    onClose(() => tasks.end());
    tasks.start(attachment);

    // Everything below is needed by operators, not by containers. Loading it takes longer than registering: it has to wait.
    await waitForContact(attachment, signal);
    const allowsProfiles = (): boolean => live.config.profiling;
    await startAdminEndpoints({ config, listeners, ...status, health, allowsProfiles, alarms, log, onClose });
    log.info({ adminSocket: config.adminSocket, topology: describeNode(model) }, 'started');

    if (config.auditPeriodMs !== undefined) {
      const { AuditJob } = await import('./audit/audit-job');
      const { backend, metrics } = status;
      tasks.start(
        new AuditJob({
          context,
          assigned: () => backend.topology(),
          metrics: metrics?.addAudit(),
          onForeign: (loads) => status.showForeign(loads),
        }),
      );
    }
    if (config.irqAffinity === 'steer' || isOwed(config.stateDir, OWED.interrupts)) {
      const { IrqSteering } = await import('./irq-affinity/irq-steering');
      const steering = new IrqSteering({ context });
      if (config.irqAffinity === 'steer') status.metrics?.addIrqAffinity(() => steering.figures);
      status.showFixedIrqs(() => steering.fixed);
      tasks.start(steering);
    }
    const kubelet = new Kubelet({ context, transactor, given: () => live.config, rules, manager });
    if (start.kubeletConfig) kubelet.accept(start.kubeletConfig);
    const labels = new FollowedLabels({ loaded, alarms, log });
    followOptions({ context, transactor, kubelet, live, rules, labels }, options);
    const promises = { counts: () => countPromises(model, verdicts), gap: () => gap.current };
    const apiServer = await openApiServer({ context, transactor, kubelet, labels, promises });
    if (apiServer) {
      status.showPodSource(() => apiServer.source);
      tasks.start(apiServer);
    }
    if (
      config.collectIntervalMs !== undefined ||
      isOwed(config.stateDir, OWED.qosActions) ||
      isOwed(config.stateDir, OWED.lentResources)
    ) {
      const { QosPart } = await import('./qos/open-qos');
      const update = (change: CpuUpdate) => client.ask((cri, options) => cri.updateContainer(change, options));
      tasks.start(new QosPart({ context, update, status }));
    }
    const watchdog = openWatchdog(systemd, { periodMs: config.reconcilePeriodMs, log });
    const { lockPath } = start;
    await runPeriodicTasks({ context, machine, manager, identities, ...reconciliation, lockPath, watchdog }, signal);
    log.info({ because: String(signal.reason) }, 'stopping');
  });
}

function openWatchdog(
  systemd: Systemd | undefined,
  parts: Pick<WatchdogParts, 'periodMs' | 'log'>,
): Watchdog | undefined {
  if (systemd?.watchdogMs === undefined) return undefined;
  const { notifySocket, watchdogMs } = systemd;
  return new Watchdog({ ...parts, limitMs: watchdogMs, send: (...message) => sendToSystemd(notifySocket, ...message) });
}

/** The options with the labels of the Node, which are asked for where a group of the file needs them and they were never known. */
async function withLabels({ loaded, log, signal }: DaemonOptions): Promise<Loaded> {
  if (loaded.node.labelsFrom !== 'unknown') return loaded;
  const { askLabels } = await import('./apiserver/ask-labels');
  const labels = await askLabels(loaded.config, { nodeName: loaded.node.name, log, signal });
  if (!labels) return loaded;
  const labelled = await loaded.again(labels);
  if (!labelled.ok) throw new CpusetdError('INVALID_ARGUMENT', labelled.problems.join('\n'));
  return labelled;
}

/** Resolves after the first contact with the runtime, and not later than after `FIRST_CONTACT_MS`. */
async function waitForContact({ firstContact }: Attachment, signal: AbortSignal): Promise<void> {
  const patience = delay(FIRST_CONTACT_MS, undefined, { ref: false, signal }).catch(() => undefined);
  await Promise.race([firstContact, patience]);
}

/** Takes changed options over from now on: when the file has changed, or on request. */
function followOptions(
  {
    context,
    transactor,
    kubelet,
    live,
    rules,
    labels,
  }: Pick<ReloaderParts, 'context' | 'transactor' | 'rules'> & {
    kubelet: Kubelet;
    live: LiveOptions;
    labels: FollowedLabels;
  },
  { loaded, hangup }: Pick<DaemonOptions, 'loaded' | 'hangup'>,
): void {
  const { events, faults, log, signal } = context;
  const reloader = new Reloader({
    context,
    transactor,
    options: live,
    rules,
    load: () => labels.load(),
    withReservation: (config) => withReservation(config, kubelet.config),
  });
  events.on('optionsChanged', 'following the reservation', () => kubelet.adoptAgain());
  events.on('optionsChanged', 'following the log level', ({ logLevel }) => (log.level = logLevel));
  const reload = (): void => {
    reloader.reload().catch((error: unknown) => faults.note('reading the options again', error));
  };
  hangup.addEventListener('hangup', reload, { signal });
  labels.onChange = reload;
  const retry = (): void => {
    reloader.retry().catch((error: unknown) => faults.note('reading the options again', error));
  };
  kubelet.onAccept = retry;
  events.on('committed', 'trying options again that did not fit', ({ reported }) => {
    if (!reported.some(({ kind }) => kind === 'online-cpus-changed' || kind === 'cpu-bound-changed')) return;
    kubelet.adoptAgain();
    retry();
  });
  const { file } = loaded;
  if (file) new ConfigFileWatch({ path: file.path, known: file.text, onChange: reload, signal });
}

/** Undefined without a kubeconfig; the client of the API server is not loaded then. */
async function openApiServer(parts: ApiServerParts): Promise<ApiServer | undefined> {
  if (parts.context.config.kubeconfig === undefined) return undefined;
  const { ApiServer } = await import('./apiserver/api-server');
  return new ApiServer(parts);
}
