import { join } from 'node:path';
import type { Logger } from 'pino';
import { explainListen, listenAt } from '../../admin/grpc/listener';
import type { PageJournal } from '../../admin/page/journal-search';
import type { AdminListeners } from '../../admin/server/admin-server';
import type { HostPort } from '../../net/host-port';
import type { Config, LiveOptions } from '../config';
import type { DaemonContext } from '../context';
import type { OnClose } from '../lifecycle/closers';
import { openParts, type Part } from '../lifecycle/part';
import type { TaskGroup } from '../lifecycle/task-group';
import { keepListening } from './keep-listening';
import type { NodeStatus } from './open-status';

export interface EndpointNeeds {
  readonly context: Pick<DaemonContext, 'config' | 'health' | 'alarms' | 'log'>;
  readonly status: Pick<NodeStatus, 'backend' | 'metrics'>;
  readonly listeners: AdminListeners;
  /** The options of now. */
  readonly live: Pick<LiveOptions, 'config'>;
  readonly onClose: OnClose;
}

/** The server of the admin socket and of PodResources. */
const adminPart: Part<EndpointNeeds> = {
  name: 'admin',
  isWanted: () => true,
  open: async ({ context, status, listeners, live, onClose }) => {
    const { config, health, log } = context;
    const { startAdminServer } = await import('../../admin/server/admin-server');
    const admin = startAdminServer({
      listeners,
      kubeletResourcesSocket: `${config.kubeletRootDir}/pod-resources/kubelet.sock`,
      backend: status.backend,
      health,
      allowsProfiles: () => live.config.profiling,
      log,
    });
    onClose(() => admin.close());
    return undefined;
  },
};

const healthPart: Part<EndpointNeeds> = {
  name: 'health',
  isWanted: ({ healthAddress }) => healthAddress !== undefined,
  open: async (needs) => {
    const { config, health, log } = needs.context;
    const { startHealthServer } = await import('../../admin/server/admin-server');
    await keepAt(needs, '--health-address', config.healthAddress!, (address) =>
      startHealthServer({ address, health, log }),
    );
    return undefined;
  },
};

/** The metrics at an address of their own. At that of the page they are one of its routes. */
const metricsPart: Part<EndpointNeeds> = {
  name: 'metrics',
  isWanted: ({ metricsAddress, httpAddress }) =>
    metricsAddress !== undefined && !isSameAddress(metricsAddress, httpAddress),
  open: async (needs) => {
    const { config, log } = needs.context;
    const metrics = needs.status.metrics!;
    const { startMetricsServer } = await import('../../admin/metrics/metrics-server');
    await keepAt(needs, '--metrics-address', config.metricsAddress!, (address) =>
      startMetricsServer({ address, metrics, processFigures: config.processMetrics, log }),
    );
    return undefined;
  },
};

const pagePart: Part<EndpointNeeds> = {
  name: 'page',
  isWanted: ({ httpAddress }) => httpAddress !== undefined,
  open: async (needs) => {
    await keepAt(needs, '--http-address', needs.context.config.httpAddress!, (address) => servePage(needs, address));
    return undefined;
  },
};

const ENDPOINTS = [adminPart, healthPart, metricsPart, pagePart];

/**
 * Opens everything that serves operators, as configured. A TCP address that can't be listened on is an alarm, and tried
 * again. The daemon says that it serves when all were opened.
 */
export async function startEndpoints(needs: EndpointNeeds, tasks: Pick<TaskGroup, 'start'>): Promise<void> {
  await openParts(ENDPOINTS, needs, tasks);
  const { health } = needs.context;
  health.set('', 'SERVING');
  health.set('cpusetd.v1.CpuManager', 'SERVING');
}

/**
 * Opens the admin sockets before anything is registered or pinned: a socket that can't be opened ends the start, and
 * later nothing does. Clients that connect before `startEndpoints` wait. Throws CpusetdError.
 */
export async function openListeners(
  { adminSocket, podResourcesSocket }: Config,
  { log, onClose }: { readonly log: Logger; readonly onClose: OnClose },
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
 * The page, with the metrics beside it. At the address of the metrics they are served under any name, as they would be
 * without the page.
 */
async function servePage(
  { context: { config, log }, status: { backend, metrics } }: EndpointNeeds,
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
  { context: { alarms }, onClose }: EndpointNeeds,
  option: string,
  address: HostPort,
  start: (address: HostPort) => Promise<{ close(): Promise<void> }>,
): Promise<void> {
  const end = await keepListening({
    option,
    listen: () => start(address),
    explain: (error) => explainListen(error, { address, option }),
    close: (server) => server.close(),
    alarms,
  });
  onClose(end);
}
