import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { HealthState } from '../admin/health-state';
import type { NodeView } from '../core/model/node-model';
import { readOffline } from '../host';
import { PostCommit } from './transaction/post-commit';
import { AllocationTrace } from './status/allocation-trace';
import { Alarms } from './alarms/alarms';
import type { KubeAttachment } from './apiserver/api-server';
import { attachNri } from './runtime/nri-attachment';
import { attachPods } from './apiserver/pod-ingest';
import { ContainerCgroups } from './cgroups/container-cgroups';
import { withClosers } from './lifecycle/closers';
import type { Config, OptionsInForce, PlaceOf } from './config';
import { TransactionMetrics } from './status/transaction-metrics';
import { DriftClues } from './reconcile/drift-diagnosis';
import { DaemonEvents } from './transaction/daemon-events';
import { DriftWatch } from './reconcile/drift-watch';
import { Faults } from './alarms/faults';
import { GapTracker } from './status/gap-tracker';
import { Heartbeat } from './lifecycle/stall-detector';
import type { KubeletConfig } from '../kube/kubelet/kubelet-config';
import { KubeletManager } from './node/kubelet-cpu-manager';
import { adoptReservation } from './node/kubelet-reservation';
import { makeRounds } from './periodic-tasks';
import { createAdminBackend } from './status/admin-backend';
import { logEvents } from './status/event-log';
import { notifyServiceManager } from './lifecycle/notify-service-manager';
import { OnlineCpus } from './node/cpu-hotplug';
import { openGround } from './bootstrap';
import { PauseFinder } from './runtime/pause-finder';
import { Reconciler } from './reconcile/reconciler';
import { openRefusals } from './status/refusal-file';
import { RuntimeLink } from './runtime/runtime-client';
import { loadMetrics, openDoors, startAdminEndpoints } from './status/admin-endpoints';
import { Transactor } from './transaction/transactor';
import { VerdictStore } from './status/verdict-store';

export interface DaemonOptions {
  readonly config: Config;
  /** Where an option was set, for messages about it. */
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

/** The admin socket waits so long for a runtime that accepts us and says nothing. */
const FIRST_CONTACT_MS = 1_000;

/** Runs until the signal is aborted. Throws CpusetdError when it can't start. */
export async function runDaemon(options: DaemonOptions): Promise<void> {
  const { config: given, placeOf, inForce, version, log, signal: told, notifySocket } = options;
  const fault = new AbortController();
  const signal = AbortSignal.any([told, fault.signal]);
  setMaxListeners(0, signal); // one for each part that ends with it
  await withClosers(async (onClose) => {
    const startedAt = new Date().toISOString();
    const now = (): string => new Date().toISOString();
    log.info({ version, ...inForce }, 'starting with these options');
    const ground = await openGround({ config: given, placeOf, version, log, onClose });
    const { config, kubeletConfig, model, memory, cgroups, writes, lockPath, aliveMs } = ground;
    const doors = await openDoors(config, { log, onClose });
    const verdicts = new VerdictStore();
    const health = new HealthState();
    notifyServiceManager({ notifySocket, health, service: given.mode === 'nri' ? 'nri' : 'cri', log, signal });

    // Outlives the signal: calls that pass through us while we stop may need it to the end.
    const linkEnd = new AbortController();
    onClose(() => linkEnd.abort());
    const link = new RuntimeLink({
      endpoint: config.criEndpoint,
      model,
      transactor: { record: (work) => transactor.record(work) },
      log,
      signal: linkEnd.signal,
      now,
      isBusy: (containerId) => attachment.isBusy(containerId),
      isMaking: () => attachment.isMaking(),
      onUpdateFailed: (containerId) => reconciler.noteUpdateFailed(containerId),
      onChange: ({ state }) => {
        // As a proxy, being reachable is not enough: calls go through the runtime's list.
        if (config.mode === 'nri') health.set('cri', state === 'ready' ? 'SERVING' : 'NOT_SERVING');
        backend.feed.touch();
      },
    });
    const alarms = new Alarms({
      log,
      now,
      onChange: () => {
        backend.feed.touch();
        kube?.follow(); // the condition of the Node
      },
    });
    const faults = new Faults({ log, alarms });
    const events = new DaemonEvents(faults);
    const allocations = new AllocationTrace(model, faults);
    const heartbeat = new Heartbeat({ signal });
    const gap = new GapTracker(
      {
        log,
        onEnded: (ended) => metrics?.gapEnded(ended),
        stalledForMs: () => heartbeat.stalledForMs(),
      },
      aliveMs ?? Date.parse(startedAt),
    );
    const refusals = openRefusals({ stateDir: config.stateDir, model, now, log, onClose });
    const backend = createAdminBackend({
      model,
      verdicts,
      faults,
      stepsOf: (containerId) => allocations.stepsOf(containerId),
      refused: () => refusals.list(),
      now,
      readOffline: () => readOffline(config.sysfsRoot, model.topology.online),
      facts: () => ({
        mode: config.mode,
        startedAt,
        version,
        ...attachment.facts,
        generation: memory.generation,
        gap: gap.current,
        alarms: alarms.list(),
        kube: kube?.source,
      }),
    });
    let kube: KubeAttachment | undefined;
    // Only loaded when asked for: nothing of it is on the way to being registered otherwise.
    const metrics = await loadMetrics(config, { status: () => backend.status(), node: model });

    const containerCgroups = new ContainerCgroups({ cgroups, canWrite: writes, model, log });
    const transactionMetrics = new TransactionMetrics({ model, metrics, alarms, faults });
    const transactor = new Transactor({
      model,
      save: memory.save,
      mover: containerCgroups,
      now,
      log,
      observer: {
        onSaved: (tookMs, problem) => transactionMetrics.onSaved(tookMs, problem),
        onTransaction: (done) => {
          const { request, reported } = done;
          gap.note(reported);
          allocations.note(reported);
          link.recorder.noteEvent(done.event);
          if (request?.kind === 'update-container' && !link.recorder.isUpdating(request.container.id))
            clues.noteUpdate(request.container.id, performance.now());
          if (done.isCut) reconciler.goOnServing();
          if (request) pauses.follow(request);
          postCommit.begin(done);
        },
      },
    });
    if (!memory.isWritable) transactor.trySaving(); // an alarm from the start, not from the first refusal on
    const kubelet = new KubeletManager(config.kubeletRootDir, alarms);
    const clues = new DriftClues({ model, cgroups: containerCgroups, hasStaticKubelet: () => kubelet.isActive });
    const reconciler = new Reconciler({
      model,
      transactor,
      cgroups: containerCgroups,
      verdicts,
      clues,
      alarms,
      faults,
      ...(link.isOn && { listRuntime: () => link.list(signal) }),
      resynchronize: (containerIds) => {
        log.warn({ containerIds }, 'the runtime has containers that it did not tell us of; asking for all of them');
        attachment.resynchronize();
      },
      now,
      log,
      signal,
      observer: {
        onDrift: ({ cause }) => metrics?.drifted(cause ?? 'unknown-writer'),
        onRepair: (outcome, containerId) => {
          metrics?.repaired(outcome);
          if (outcome === 'ok') kube?.onRepaired(containerId);
        },
        onSwept: () => backend.feed.touch(),
      },
    });
    const watch = new DriftWatch({
      model,
      cgroups,
      alarms,
      faults,
      onUnwatched: () => metrics?.cpusetUnwatched(),
      onDrift: (ids) => reconciler.check(ids, { written: true }),
      willReadBack: (id) => reconciler.willReadBack(id),
      onAsPromised: (ids) => reconciler.noteWritten(ids),
    });
    onClose(() => watch.close());
    events.on('committed', 'writing the log', ({ reported }) => logEvents(log, reported));
    events.on('committed', 'telling the API server', (done) => kube?.onTransaction(done));
    events.on('committed', 'remembering refusals', (done) => refusals.note(done));
    if (metrics)
      events.on('committed', 'counting for metrics', (done) => transactionMetrics.count(done, refusals.of(done)));
    if (link.isOn) events.on('turnEnded', 'waking the recorder', () => link.recorder.wake());
    events.on('turnEnded', 'telling who watches', () => backend.feed.touch());
    events.on('turnEnded', 'publishing the node', () => kube?.follow());
    const postCommit = new PostCommit({
      signal,
      faults,
      events,
      widenPod: (pod) => containerCgroups.widenPod(pod),
      watch: (ids) => watch.follow(ids),
      check: (ids) => reconciler.check(ids),
      readBack: (ids, urgency) => reconciler.readBack(ids, urgency),
    });

    const pauses = new PauseFinder({
      model,
      cgroups: containerCgroups,
      tell: (found) => transactor.handle({ kind: 'pauses-found', pauses: found }),
      ...(link.isOn && { ask: (id) => link.ask((client, options) => client.readPause(id, options)) }),
      faults,
      signal,
    });
    const attach = config.mode === 'nri' ? attachNri : (await import('./runtime/proxy-attachment')).attachProxy;
    const attachment = attach({
      config,
      model,
      transactor,
      cgroups,
      link,
      pauses,
      gap,
      health,
      log,
      signal,
      startedAt,
      onChange: () => backend.feed.touch(),
    });
    attachment.ended.catch((error: unknown) => fault.abort(error)); // thrown by the closer
    onClose(() => {
      fault.abort('closing'); // also when what comes below could not be had: never half alive
      return attachment.ended;
    });

    // Everything below is needed by people, not by containers. Loading it takes longer than registering: it has to wait.
    await Promise.race([
      attachment.firstContact,
      delay(FIRST_CONTACT_MS, undefined, { ref: false, signal }).catch(() => undefined),
    ]);
    await startAdminEndpoints({ config, doors, backend, health, metrics, alarms, log, onClose });
    log.info({ adminSocket: config.adminSocket, topology: describe(model) }, 'started');

    let knownKubelet = kubeletConfig;
    const learnKubeletConfig = (found: KubeletConfig): void => {
      faults.contain('taking over the kubelet’s configuration', () => {
        knownKubelet = found;
        kubelet.noteConfig(found.cpuManagerPolicy);
        adoptReservation({ given, found, model, transactor, alarms, log });
      });
    };
    if (kubeletConfig) learnKubeletConfig(kubeletConfig);
    if (config.kubeconfig !== undefined) {
      const { attachKube } = await import('./apiserver/api-server');
      kube = attachKube({
        source: config.kubeconfig,
        config,
        model,
        pods: attachPods({ transactor, signal, log }),
        health,
        alarms,
        log,
        signal,
        now,
        onChange: () => backend.feed.touch(),
        kubeletIsStatic: () => kubelet.isStatic,
        kubelet: () => knownKubelet,
        onKubeletConfig: learnKubeletConfig,
      });
    }

    const onlineCpus = new OnlineCpus({
      model,
      transactor,
      cgroups: containerCgroups,
      sysfsRoot: config.sysfsRoot,
      log,
    });
    await makeRounds({
      onlineCpus,
      kubelet,
      watch,
      reconciler,
      health,
      alarms,
      faults,
      lockPath,
      periodMs: config.reconcilePeriodMs,
      signal,
    });
    log.info({ because: String(signal.reason) }, 'stopping');
  });
}

function describe({ topology, settings, sharedPool }: NodeView) {
  return {
    cpus: topology.online.toString(),
    cores: topology.cores.length,
    sockets: topology.sockets.length,
    numaNodes: topology.numaNodes.length,
    uncoreCaches: topology.uncoreCaches.length,
    reserved: settings.reserved.toString(),
    sharedPool: sharedPool.toString(),
  };
}
