import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { ApiServer, ApiServerParts } from './apiserver/api-server';
import { bootstrap, describeNode } from './bootstrap';
import type { Config, OptionsInForce, PlaceOf } from './config';
import { hasIrqMemory } from './irq-affinity/irq-memory';
import { withClosers } from './lifecycle/closers';
import { notifyServiceManager } from './lifecycle/notify-service-manager';
import { TaskGroup } from './lifecycle/task-group';
import { CpuHotplug } from './node/cpu-hotplug';
import { KubeletCpuManagerWatch } from './node/kubelet-cpu-manager';
import { Kubelet } from './node/kubelet-reservation';
import { runPeriodicTasks } from './periodic-tasks';
import { openReconciliation } from './reconcile/open-reconciliation';
import { attachRuntime } from './runtime/attach-runtime';
import type { Attachment } from './runtime/attachment';
import { RuntimeClient } from './runtime/runtime-client';
import { openListeners, startAdminEndpoints } from './status/admin-endpoints';
import { openGap } from './status/gap-tracker';
import { openStatus } from './status/open-status';

export interface DaemonOptions {
  readonly config: Config;
  /** Returns the place where an option was set, for messages about it. */
  readonly placeOf?: PlaceOf;
  /** For the log. */
  readonly inForce: OptionsInForce;
  readonly version: string;
  readonly log: Logger;
  /** `$NOTIFY_SOCKET` of systemd. */
  readonly notifySocket?: string | undefined;
  /** Ends the daemon: the runtime's socket is closed first, then everything else in the order of its opening, reversed. */
  readonly signal: AbortSignal;
}

/** Maximum time the admin socket waits for a runtime that accepts us and then is silent. */
const FIRST_CONTACT_MS = 1_000;

/** Runs until the signal is aborted. Throws CpusetdError or HostError when it can't start. */
export async function runDaemon(options: DaemonOptions): Promise<void> {
  const { config: given, inForce, version, log, notifySocket } = options;
  const tasks = new TaskGroup(options.signal);
  const { signal } = tasks;
  await withClosers(async (onClose) => {
    const startedAt = new Date().toISOString();
    log.info({ version, ...inForce }, 'starting with these options');
    const { context, transactor, store, ...start } = await bootstrap({ ...options, signal, onClose });
    const { config, model, health, alarms } = context;
    const listeners = await openListeners(config, { log, onClose });
    notifyServiceManager({ notifySocket, health, service: config.mode === 'nri' ? 'nri' : 'cri', log, signal });

    const client = new RuntimeClient({ context, transactor });
    onClose(() => client.close());
    const gap = openGap(context, start.aliveMs ?? Date.parse(startedAt));
    const { attachment, ...runtime } = await attachRuntime({ context, transactor, client, gap });
    const facts = () => ({ startedAt, version, generation: store.generation, ...attachment.facts });
    const { verdicts, ...status } = await openStatus({
      context,
      gap,
      facts,
      settings: { ...inForce, machine: describeNode(model) },
      onClose,
    });
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
    await startAdminEndpoints({ config, listeners, ...status, health, alarms, log, onClose });
    log.info({ adminSocket: config.adminSocket, topology: describeNode(model) }, 'started');

    if (config.auditPeriodMs !== undefined && status.metrics) {
      const { AuditJob } = await import('./audit/audit-job');
      const { backend, metrics } = status;
      tasks.start(new AuditJob({ context, assigned: () => backend.topology(), metrics: metrics.addAudit() }));
    }
    if (config.irqAffinity === 'steer' || hasIrqMemory(config.stateDir)) {
      const { IrqSteering } = await import('./irq-affinity/irq-steering');
      const steering = new IrqSteering({ context });
      if (config.irqAffinity === 'steer') status.metrics?.addIrqAffinity(() => steering.figures);
      status.showFixedIrqs(() => steering.fixed);
      tasks.start(steering);
    }
    const kubelet = new Kubelet({ context, transactor, given, manager });
    if (start.kubeletConfig) kubelet.accept(start.kubeletConfig);
    const apiServer = await openApiServer({ context, transactor, kubelet });
    if (apiServer) {
      status.showPodSource(() => apiServer.source);
      tasks.start(apiServer);
    }
    const hotplug = new CpuHotplug({ context, transactor });
    await runPeriodicTasks({ context, hotplug, manager, ...reconciliation, lockPath: start.lockPath }, signal);
    log.info({ because: String(signal.reason) }, 'stopping');
  });
}

/** Resolves after the first contact with the runtime, and not later than after `FIRST_CONTACT_MS`. */
async function waitForContact({ firstContact }: Attachment, signal: AbortSignal): Promise<void> {
  const patience = delay(FIRST_CONTACT_MS, undefined, { ref: false, signal }).catch(() => undefined);
  await Promise.race([firstContact, patience]);
}

/** Undefined without a kubeconfig; the client of the API server is not loaded then. */
async function openApiServer(parts: ApiServerParts): Promise<ApiServer | undefined> {
  if (parts.context.config.kubeconfig === undefined) return undefined;
  const { ApiServer } = await import('./apiserver/api-server');
  return new ApiServer(parts);
}
