import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { CpusetdError } from '../core/errors';
import { apiServerPart, type ApiServerNeeds } from './apiserver/part';
import { auditPart, type AuditNeeds } from './audit/part';
import { bootstrap, describeNode } from './bootstrap';
import { LiveOptions, type Loaded } from './config';
import { irqAffinityPart, type IrqAffinityNeeds } from './irq-affinity/part';
import { withClosers } from './lifecycle/closers';
import { notifyServiceManager } from './lifecycle/notify-service-manager';
import { openParts, type Part } from './lifecycle/part';
import { sendToSystemd, type Systemd } from './lifecycle/systemd';
import { TaskGroup } from './lifecycle/task-group';
import { Watchdog, type WatchdogParts } from './lifecycle/watchdog';
import { FollowedLabels } from './node/followed-labels';
import { KubeletCpuManagerWatch } from './node/kubelet-cpu-manager';
import { Kubelet } from './node/kubelet-reservation';
import { MachineWatch } from './node/machine-watch';
import { runPeriodicTasks } from './periodic-tasks';
import { qosPart, type QosNeeds } from './qos/part';
import { openReconciliation } from './reconcile/open-reconciliation';
import { reloadPart, type ReloadNeeds } from './reload/part';
import { attachRuntime } from './runtime/attach-runtime';
import type { Attachment } from './runtime/attachment';
import { RuntimeClient } from './runtime/runtime-client';
import { openListeners, startEndpoints } from './status/admin-endpoints';
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
  /**
   * Ends the daemon: the runtime's socket is closed first, then everything else in the order of its opening, reversed.
   */
  readonly signal: AbortSignal;
}

/** Maximum time the admin socket waits for a runtime that accepts us and then is silent. */
const FIRST_CONTACT_MS = 1_000;

/** The parts that no container waits for, besides the endpoints, in the order of their start. */
export const PARTS: readonly Part<AuditNeeds & IrqAffinityNeeds & ReloadNeeds & ApiServerNeeds & QosNeeds>[] = [
  reloadPart, // first: no change of the machine comes between the kubelet's reservation and those who follow it
  auditPart,
  irqAffinityPart,
  apiServerPart,
  qosPart,
];

/** Runs until the signal is aborted. Throws CpusetdError or HostError when it can't start. */
export async function runDaemon(options: DaemonOptions): Promise<void> {
  const { version, log, systemd, hangup } = options;
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
    context.events.on('turnEnded', 'writing CPU identities', identities.follow);
    if (!store.isWritable) transactor.trySaving(); // an alarm from the start, not from the first refusal on

    const manager = new KubeletCpuManagerWatch(config.kubeletRootDir, alarms);
    const reconciliation = openReconciliation({
      context,
      transactor,
      verdicts,
      runtime,
      isOwnUpdate: (containerId) => client.recordSync.isUpdating(containerId),
      hasStaticKubelet: () => manager.isActive,
    });
    onClose(() => reconciliation.watch.close());
    onClose(() => tasks.end());
    tasks.start(attachment);

    // Everything below is needed by operators, not by containers. Loading it takes longer than registering: it has to
    // wait.
    await waitForContact(attachment, signal);
    await startEndpoints({ context, status, listeners, live, onClose }, tasks);
    log.info({ adminSocket: config.adminSocket, topology: describeNode(model) }, 'started');

    const kubelet = new Kubelet({ context, transactor, given: () => live.config, rules, manager });
    if (start.kubeletConfig) kubelet.accept(start.kubeletConfig);
    const labels = new FollowedLabels({ loaded, alarms, log });
    const promises = { counts: () => countPromises(model, verdicts), gap: () => gap.current };
    const node = { context, transactor, client, status, kubelet, labels, promises };
    await openParts(PARTS, { ...node, loaded, live, rules, hangup }, tasks);

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

/**
 * The options with the labels of the Node, which are asked for where a group of the file needs them and they were never
 * known.
 */
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
