import type { Logger } from 'pino';
import type { HealthState } from '../admin/health-state';
import type { Metrics } from '../admin/metrics';
import type { AdminBackend } from '../admin/status';
import type { OnClose } from './closers';
import type { Config } from './config';

export interface PeopleServed {
  readonly config: Config;
  readonly backend: AdminBackend;
  readonly health: HealthState;
  readonly metrics: Metrics | undefined;
  readonly log: Logger;
  readonly onClose: OnClose;
}

/** Metrics, where an address for them was given: nothing of them is loaded otherwise. */
export async function loadMetrics(
  { metricsAddress }: Config,
  source: ConstructorParameters<typeof Metrics>[0],
): Promise<Metrics | undefined> {
  if (metricsAddress === undefined) return undefined;
  const { Metrics } = await import('../admin/metrics');
  return new Metrics(source);
}

/** Opens what people and their tools ask: the admin socket, PodResources, and metrics where they are wanted. */
export async function servePeople({ config, backend, health, metrics, log, onClose }: PeopleServed): Promise<void> {
  const { startAdminServer } = await import('../admin/server');
  const admin = await startAdminServer({
    socketPath: config.adminSocket,
    ...(config.healthAddress !== undefined && { healthAddress: config.healthAddress }),
    ...(config.podResourcesSocket !== undefined && { podResourcesSocket: config.podResourcesSocket }),
    kubeletResourcesSocket: `${config.kubeletRootDir}/pod-resources/kubelet.sock`,
    backend,
    health,
    log,
  });
  onClose(() => admin.close());
  if (metrics && config.metricsAddress !== undefined) {
    const { startMetricsServer } = await import('../admin/metrics-server');
    const server = await startMetricsServer({ address: config.metricsAddress, metrics, log });
    onClose(() => server.close());
  }
  health.set('', 'SERVING');
  health.set('cpusetd.v1.CpuManager', 'SERVING');
}
