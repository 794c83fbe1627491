import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { bootstrap, describeNode } from './bootstrap';
import type { Config, OptionsInForce, PlaceOf } from './config';
import { withClosers } from './lifecycle/closers';
import { notifyServiceManager } from './lifecycle/notify-service-manager';
import { Heartbeat } from './lifecycle/stall-detector';
import { TaskGroup } from './lifecycle/task-group';
import { CpuHotplug } from './node/cpu-hotplug';
import { KubeletCpuManagerWatch } from './node/kubelet-cpu-manager';
import { Kubelet } from './node/kubelet-reservation';
import { runPeriodicTasks } from './periodic-tasks';
import { DriftDiagnosis } from './reconcile/drift-diagnosis';
import { DriftWatch } from './reconcile/drift-watch';
import { Reconciler } from './reconcile/reconciler';
import { attachRuntime } from './runtime/attach-runtime';
import { RuntimeClient } from './runtime/runtime-client';
import { openListeners, startAdminEndpoints } from './status/admin-endpoints';
import { GapTracker } from './status/gap-tracker';
import { openStatus } from './status/open-status';
import { PostCommit } from './transaction/post-commit';

export interface DaemonOptions {
  readonly config: Config;
  /** Tells the place where an option was set, for messages about it. */
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

/** Runs until the signal is aborted. Throws CpusetdError when it can't start. */
export async function runDaemon(options: DaemonOptions): Promise<void> {
  const { config: given, inForce, version, log, notifySocket } = options;
  const tasks = new TaskGroup(options.signal);
  const { signal } = tasks;
  await withClosers(async (onClose) => {
    const startedAt = new Date().toISOString();
    log.info({ version, ...inForce }, 'starting with these options');
    const { context, transactor, store, ...start } = await bootstrap({ ...options, signal, onClose });
    const { config, model, health, alarms, events } = context;
    const listeners = await openListeners(config, { log, onClose });
    notifyServiceManager({ notifySocket, health, service: config.mode === 'nri' ? 'nri' : 'cri', log, signal });

    const client = new RuntimeClient({ context, transactor });
    onClose(() => client.close());
    const heartbeat = new Heartbeat({ signal });
    const gap = new GapTracker(
      { log, onEnded: (ended) => events.emit('gapEnded', ended), stalledForMs: () => heartbeat.stalledForMs() },
      start.aliveMs ?? Date.parse(startedAt),
    );
    const attachment = await attachRuntime({ context, transactor, client, gap });
    const facts = () => ({ startedAt, version, generation: store.generation, ...attachment.facts });
    const { verdicts, ...status } = await openStatus({ context, gap, facts, onClose });
    if (!store.isWritable) transactor.trySaving(); // an alarm from the start, not from the first refusal on

    const manager = new KubeletCpuManagerWatch(config.kubeletRootDir, alarms);
    const diagnosis = new DriftDiagnosis({ ...context, hasStaticKubelet: () => manager.isActive });
    events.on('decided', 'noting updates of others', ({ request }) => {
      if (request?.kind === 'update-container' && !client.recorder.isUpdating(request.container.id))
        diagnosis.noteUpdate(request.container.id, performance.now());
    });
    const runtime = {
      ...(client.isOn && { list: () => client.list(signal) }),
      resynchronize: (containerIds: readonly string[]) => {
        log.warn({ containerIds }, 'the runtime has containers that it did not tell us of; asking for all of them');
        attachment.resynchronize();
      },
    };
    const reconciler = new Reconciler({ context, transactor, verdicts, diagnosis, runtime });
    const watch = new DriftWatch({ context, reconciler });
    onClose(() => watch.close());
    const postCommit = new PostCommit({
      ...context,
      widenPod: (pod) => context.cgroups.widenPod(pod),
      watch: (ids) => watch.follow(ids),
      check: (ids) => reconciler.check(ids),
      readBack: (ids, urgency) => reconciler.readBack(ids, urgency),
    });
    events.on('decided', 'following a transaction', (done) => postCommit.begin(done));
    onClose(() => tasks.end());
    tasks.start(attachment);

    // Everything below is needed by operators, not by containers. Loading it takes longer than registering: it has to wait.
    await Promise.race([
      attachment.firstContact,
      delay(FIRST_CONTACT_MS, undefined, { ref: false, signal }).catch(() => undefined),
    ]);
    await startAdminEndpoints({ config, listeners, ...status, health, alarms, log, onClose });
    log.info({ adminSocket: config.adminSocket, topology: describeNode(model) }, 'started');

    const kubelet = new Kubelet({ context, transactor, given, manager });
    if (start.kubeletConfig) kubelet.accept(start.kubeletConfig);
    if (config.kubeconfig !== undefined) {
      const { ApiServer } = await import('./apiserver/api-server');
      const apiServer = new ApiServer({ context, transactor, kubelet });
      status.showPodSource(() => apiServer.source);
      tasks.start(apiServer);
    }
    const hotplug = new CpuHotplug({ context, transactor });
    const { lockPath } = start;
    await runPeriodicTasks({ context, hotplug, kubelet: manager, watch, reconciler, lockPath }, signal);
    log.info({ because: String(signal.reason) }, 'stopping');
  });
}
