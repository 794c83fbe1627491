import type { Logger } from 'pino';
import { HealthState } from '../admin/health-state';
import type { Connection } from '../admin/status';
import { CpusetdError } from '../core/errors';
import type { RuntimeAnswer, RuntimeEvent } from '../core/model/events';
import { NodeModel } from '../core/model/node-model';
import { acquireHostLock, openCgroups, readTopology } from '../host';
import type { PluginState } from '../nri';
import { createCgroupMover } from './cgroup-mover';
import { withClosers } from './closers';
import type { Config } from './config';
import { createAdminBackend } from './node-status';
import { readLiveCpusets } from './observe';
import { openMemory } from './memory';
import { keepPlugin } from './nri-link';
import { repeat } from './periodic';
import { Reconciler } from './reconciler';
import { RuntimeLink } from './runtime-link';
import { settingsOf } from './settings-of';
import { Transactor } from './transactor';
import { VerdictBook } from './verdict-book';

export interface DaemonOptions {
  readonly config: Config;
  readonly version: string;
  readonly log: Logger;
  /** Ends the daemon: the runtime's socket is closed first, then everything else in the order of its opening, reversed. */
  readonly signal: AbortSignal;
}

/** Runs until the signal is aborted. Throws CpusetdError when it can't start. */
export async function runDaemon({ config, version, log, signal }: DaemonOptions): Promise<void> {
  await withClosers(async (onClose) => {
    const startedAt = new Date().toISOString();
    const now = (): string => new Date().toISOString();
    const lock = acquireHostLock(`${config.stateDir}/lock`);
    if (lock.kind === 'held') throw new CpusetdError('FAILED_PRECONDITION', lock.because);
    onClose(() => lock.lock.release());

    const topology = readTopology({ sysfsRoot: config.sysfsRoot });
    const model = new NodeModel(topology, settingsOf(config, topology));
    const memory = openMemory({ stateDir: config.stateDir, version, model, log });
    const cgroups = openCgroups({ cgroupRoot: config.cgroupRoot });
    const writable = config.cgroupWrites
      ? cgroups.probeWritable()
      : { writable: false as const, because: 'cgroup-writes is off' };
    if (!writable.writable)
      log.warn({ because: writable.because }, 'cgroups are not written directly; the runtime is asked to');
    const mover = createCgroupMover(cgroups, { writes: writable.writable });
    const verdicts = new VerdictBook();
    const health = new HealthState();

    const nri: { state: PluginState | undefined } = { state: undefined };
    const link = new RuntimeLink({ endpoint: config.criEndpoint, model, log, signal, now });
    const backend = createAdminBackend({
      model,
      verdicts,
      now,
      facts: () => ({
        mode: config.mode,
        startedAt,
        version,
        runtimeName: nri.state?.runtime?.name ?? '',
        runtimeVersion: nri.state?.runtime?.version ?? '',
        nri: connectionOf(nri.state, startedAt),
        cri: link.connection,
        generation: memory.generation,
      }),
    });
    const transactor = new Transactor({
      model,
      save: memory.save,
      mover,
      now,
      log,
      observer: {
        onTransaction: () => {
          if (link.isOn) link.recorder.wake();
          backend.feed.touch();
        },
      },
    });
    const handle = (event: RuntimeEvent): RuntimeAnswer =>
      transactor.handle(event, event.kind === 'synchronize' ? readLiveCpusets(cgroups, event.containers) : undefined);

    const plugin = keepPlugin({
      socketPath: config.nriSocket,
      pluginName: config.nriPluginName,
      pluginIndex: config.nriPluginIndex,
      handler: { onEvent: handle },
      log,
      signal,
      onState: (state) => {
        nri.state = state;
        health.set('nri', state.phase === 'synchronized' ? 'SERVING' : 'NOT_SERVING');
        backend.feed.touch();
      },
    });
    onClose(() => plugin.ended);

    const reconciler = new Reconciler({
      model,
      transactor,
      cgroups,
      verdicts,
      ...(link.isOn && { listRuntime: () => link.list() }),
      resynchronize: (containerIds) => {
        log.warn({ containerIds }, 'the runtime has containers that it did not tell us of; asking for all of them');
        plugin.reconnect();
      },
      now,
      log,
      onSwept: () => backend.feed.touch(),
    });

    // Everything below is needed by people, not by containers: it is loaded when the runtime can reach us already.
    const { startAdminServer } = await import('../admin/server');
    const admin = await startAdminServer({
      socketPath: config.adminSocket,
      ...(config.healthAddress !== undefined && { healthAddress: config.healthAddress }),
      backend,
      health,
      log,
    });
    onClose(() => admin.close());
    health.set('', 'SERVING');
    health.set('cpusetd.v1.CpuManager', 'SERVING');
    log.info({ adminSocket: config.adminSocket, topology: describe(model) }, 'started');

    await repeat(() => reconciler.round(), { periodMs: config.reconcilePeriodMs, signal });
    log.info({ because: String(signal.reason) }, 'stopping');
  });
}

function connectionOf(state: PluginState | undefined, startedAt: string): Connection {
  if (!state) return { state: 'connecting', since: startedAt, reason: '' };
  const states = {
    disconnected: 'connecting',
    connecting: 'connecting',
    registered: 'synchronizing',
    synchronized: 'ready',
  } as const;
  return { state: states[state.phase], since: new Date(state.sinceMs).toISOString(), reason: state.reason };
}

function describe({ topology, settings, sharedPool }: NodeModel) {
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
