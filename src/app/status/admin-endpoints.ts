import { join } from 'node:path';
import type { Logger } from 'pino';
import { explainListen, listenAt } from '../../admin/grpc/listener';
import type { HealthState } from '../../admin/health-state';
import type { HostPort } from '../../net/host-port';
import type { Metrics } from '../../admin/metrics/metrics';
import type { AdminListeners } from '../../admin/server/admin-server';
import type { AdminBackend } from '../../admin/model/backend';
import type { PageJournal } from '../../admin/page/journal-search';
import type { Alarms } from '../alarms/alarms';
import type { OnClose } from '../lifecycle/closers';
import type { Config } from '../config';
import { keepListening } from './keep-listening';

export interface AdminEndpointsParts {
  readonly config: Config;
  readonly listeners: AdminListeners;
  readonly backend: AdminBackend;
  readonly health: HealthState;
  readonly metrics: Metrics | undefined;
  /** The option `profiling` of now. */
  readonly allowsProfiles: () => boolean;
  readonly alarms: Alarms;
  readonly log: Logger;
  readonly onClose: OnClose;
}

/** Undefined when no address was given at which they can be read; their code is not loaded then. */
export async function loadMetrics(
  { metricsAddress, httpAddress, containerMetrics }: Config,
  source: ConstructorParameters<typeof Metrics>[0],
): Promise<Metrics | undefined> {
  if (metricsAddress === undefined && httpAddress === undefined) return undefined;
  const { Metrics } = await import('../../admin/metrics/metrics');
  return new Metrics({ ...source, containerSeries: containerMetrics });
}

/**
 * Opens the admin sockets before anything is registered or pinned: a socket that can't be opened ends the start, and later nothing
 * does. Clients that connect before `startAdminEndpoints` wait. Throws CpusetdError.
 */
export async function openListeners(
  { adminSocket, podResourcesSocket }: Config,
  { log, onClose }: Pick<AdminEndpointsParts, 'log' | 'onClose'>,
): Promise<AdminListeners> {
  const listen = async (path: string) => {
    const listener = await listenAt(path, (err) => log.warn({ err }, 'a connection was not accepted'));
    onClose(() => listener.close());
    return listener;
  };
  const admin = await listen(adminSocket);
  return { admin, ...(podResourcesSocket !== undefined && { podResources: await listen(podResourcesSocket) }) };
}

/**
 * Serves the admin socket, PodResources, and health, metrics and the page over TCP as configured. A TCP address that can't be listened on is an
 * alarm, and tried again.
 */
export async function startAdminEndpoints(served: AdminEndpointsParts): Promise<void> {
  const { config, listeners, backend, health, metrics, log, onClose } = served;
  const { startAdminServer, startHealthServer } = await import('../../admin/server/admin-server');
  const admin = startAdminServer({
    listeners,
    kubeletResourcesSocket: `${config.kubeletRootDir}/pod-resources/kubelet.sock`,
    backend,
    health,
    allowsProfiles: served.allowsProfiles,
    log,
  });
  onClose(() => admin.close());
  await keepAt(served, '--health-address', config.healthAddress, (address) =>
    startHealthServer({ address, health, log }),
  );
  if (metrics && config.metricsAddress && !isSameAddress(config.metricsAddress, config.httpAddress)) {
    const { startMetricsServer } = await import('../../admin/metrics/metrics-server');
    await keepAt(served, '--metrics-address', config.metricsAddress, (address) =>
      startMetricsServer({ address, metrics, processFigures: config.processMetrics, log }),
    );
  }
  await keepAt(served, '--http-address', config.httpAddress, (address) => servePage(served, address));
  health.set('', 'SERVING');
  health.set('cpusetd.v1.CpuManager', 'SERVING');
}

/** The page, with the metrics beside it. At the address of the metrics they are served under any name, as they would be without the page. */
async function servePage(
  { config, backend, metrics, log }: AdminEndpointsParts,
  address: HostPort,
): Promise<{ close(): Promise<void> }> {
  const { metricsAddress, journalBytes, stateDir, processMetrics: processFigures } = config;
  const { startPageServer } = await import('../../admin/page/page-server');
  const { builtAssets } = await import('../../admin/page/assets');
  const { addProcessFigures, metricsRoute } = await import('../../admin/metrics/metrics-server');
  const isShared = isSameAddress(address, metricsAddress);
  const journal = journalBytes === undefined ? undefined : await openJournal(join(stateDir, 'journal'));
  const server = await startPageServer({
    address,
    hosts: config.httpHosts,
    backend,
    assets: builtAssets(),
    ...(journal && { journal }),
    ...(metrics && { others: [{ ...metricsRoute({ metrics }), anyHost: isShared }] }),
    log,
  });
  if (metrics && (isShared || metricsAddress === undefined)) addProcessFigures({ metrics, processFigures });
  return server;
}

/** Most records of the history on the page without a search. */
const MAX_RECORDS = 200;

async function openJournal(dir: string): Promise<PageJournal> {
  const { findRecords, JournalTail } = await import('../../state/journal');
  const tail = new JournalTail({ dir, most: MAX_RECORDS, isLeftOut: ({ kind }) => kind === 'input' });
  return { latest: () => tail.records(), find: (filter, limits) => findRecords(dir, filter, limits) };
}

function isSameAddress(a: HostPort, b: HostPort | undefined): boolean {
  return a.port !== 0 && a.port === b?.port && a.host === b.host;
}

async function keepAt(
  { alarms, onClose }: AdminEndpointsParts,
  option: string,
  address: HostPort | undefined,
  start: (address: HostPort) => Promise<{ close(): Promise<void> }>,
): Promise<void> {
  if (address === undefined) return;
  const end = await keepListening({
    option,
    listen: () => start(address),
    explain: (error) => explainListen(error, { address, option }),
    close: (server) => server.close(),
    alarms,
  });
  onClose(end);
}
