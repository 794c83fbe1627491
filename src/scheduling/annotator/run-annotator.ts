import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import {
  KubeClient,
  leadWhileHeld,
  unrivalled,
  type KubeConfigSource,
  type Leadership,
  type LeaseTimes,
} from '../../kube';
import { startHttpServer, type HttpServer } from '../../net/http-server';
import { Bindings } from '../load/bindings';
import { warnOfChangingClocks, type TimeZone } from '../load/time-zone';
import type { SchedulerPolicy } from '../policy/policy';
import { Annotator } from './annotator';
import type { BindingSource } from './binding-source';
import { AnnotatorMetrics } from './metrics';
import { PrometheusClient } from './prometheus/prometheus-client';

export interface AnnotatorOptions {
  readonly policy: SchedulerPolicy;
  readonly zone: TimeZone;
  readonly kubeconfig: KubeConfigSource;
  readonly prometheus: { readonly address: string; readonly bearerTokenFile?: string; readonly caFile?: string };
  /** Matchers of labels of the series that count, as in `cluster="a"`; all by default. */
  readonly metricSelector?: string | undefined;
  /** Most bindings that are remembered. */
  readonly bindingHeapSize: number;
  readonly bindingSource: BindingSource;
  /** Most patches at once. */
  readonly concurrentSyncs: number;
  /** 0 = no server. */
  readonly healthPort: number;
  /** Absent = no rivals are expected. */
  readonly lease?: LeaseTimes & { readonly namespace: string; readonly name: string };
  readonly isDryRun: boolean;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** Wall clock, for tests. */
  readonly nowMs?: () => number;
}

/** The name that crane-scheduler's audit logs know. */
const USER_AGENT = 'crane-scheduler-controller';

/**
 * Runs the annotator until the signal aborts, or another process leads. Its health is served all the time, leader or
 * not. Throws the system's error when the port for that is taken.
 */
export async function runAnnotator(options: AnnotatorOptions): Promise<'ended' | 'lost'> {
  const { policy, healthPort, lease, isDryRun, log, signal, bindingHeapSize } = options;
  let annotator: Annotator | undefined;
  const bindings = new Bindings(bindingHeapSize);
  warnOfChangingClocks(options.zone, log);
  const metrics = new AnnotatorMetrics(
    policy.syncPolicy.map(({ name }) => name),
    () => ({ nodes: annotator?.nodeCount ?? 0, bindings: bindings.size, isLeading: annotator !== undefined }),
  );
  const server = healthPort === 0 ? undefined : await serveHealth(healthPort, metrics, log);
  metrics.addProcessFigures();
  const work = async (leadership: Leadership): Promise<void> => {
    annotator = createAnnotator(options, { leadership, bindings, metrics });
    await annotator.run();
    annotator = undefined;
  };
  try {
    if (lease === undefined || isDryRun) {
      await work(unrivalled(signal));
      return 'ended';
    }
    // Its own client: the lease is released after the signal, and its calls never wait behind patches.
    const client = new KubeClient(options.kubeconfig, new AbortController().signal, { userAgent: USER_AGENT });
    const identity = `${hostname()}_${randomUUID()}`;
    return await leadWhileHeld({ ...lease, client, identity, log, signal }, work);
  } finally {
    await server?.close();
  }
}

/**
 * Serves `/healthz`, which answers for as long as the process lives, and `/metrics`, on all addresses as
 * crane-scheduler-controller does.
 */
function serveHealth(port: number, metrics: AnnotatorMetrics, log: Logger): Promise<HttpServer> {
  return startHttpServer({
    address: { host: '', port },
    routes: [
      { method: 'GET', path: '/healthz', handle: () => ({ status: 200, contentType: 'text/plain', body: 'ok' }) },
      {
        method: 'GET',
        path: '/metrics',
        handle: async () => ({ status: 200, contentType: metrics.contentType, body: await metrics.expose() }),
      },
    ],
    log,
  });
}

function createAnnotator(
  options: AnnotatorOptions,
  parts: { readonly leadership: Leadership; readonly bindings: Bindings; readonly metrics: AnnotatorMetrics },
): Annotator {
  const { signal } = parts.leadership;
  const client = new KubeClient(options.kubeconfig, signal, { userAgent: USER_AGENT });
  const prometheus = new PrometheusClient({ ...options.prometheus, userAgent: USER_AGENT, signal });
  return new Annotator({
    ...options,
    ...parts,
    client,
    query: (expression, timeMs) => prometheus.query(expression, timeMs),
    parallel: options.concurrentSyncs,
    nowMs: options.nowMs ?? (() => Date.now()),
  });
}
