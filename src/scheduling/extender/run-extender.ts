import type { Logger } from 'pino';
import { KubeClient, type KubeConfigSource } from '../../kube';
import { acceptHosts } from '../../net/host-names';
import type { HostPort } from '../../net/host-port';
import { answerJson, answerText, startHttpServer, type HttpAnswer, type HttpRoute } from '../../net/http-server';
import type { TlsPaths } from '../../net/tls-files';
import { warnOfChangingClocks, type TimeZone } from '../load/time-zone';
import type { SchedulerPolicy } from '../policy/policy';
import { Binder } from './bind/binder';
import { keepCheckingClaims } from './bind/check-claims';
import { SeenPods } from './bind/seen-pods';
import { NodeLoads } from './cluster/node-loads';
import { NodeRecords } from './cluster/node-records';
import { TopologyState } from './cluster/topology-state';
import { DecisionLog } from './explain/decision-log';
import { Judge } from './judge';
import { ExtenderMetrics, type Verb } from './metrics';
import type { PluginWeights } from './plugins';
import { PolicyWatch } from './policy-watch';
import { BadRequest } from './protocol/read-args';
import { SchedulerVerbs } from './scheduler-verbs';

export interface ExtenderOptions {
  readonly policy: { readonly path: string; readonly first: SchedulerPolicy };
  readonly zone: TimeZone;
  /** Undefined: no API server; loads come with the requests, and only Dynamic can be on. */
  readonly kubeconfig: KubeConfigSource | undefined;
  readonly listen: HostPort;
  readonly tls?: TlsPaths;
  readonly plugins: PluginWeights;
  /** The resources that pods get in zones. */
  readonly resources: readonly string[];
  readonly maxRequestBytes: number;
  readonly isDryRun: boolean;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

const USER_AGENT = 'cpusetd-extender';
/** kube-scheduler has one request of filter at a time, and one of bind for each pod that it binds. */
const MAX_CONNECTIONS = 512;
/** Time for a request to arrive: whole Nodes of a large cluster are long. */
const REQUEST_MS = 30_000;

/**
 * Runs the extender until the signal aborts. Throws the system's error when the address is taken, and Error with a
 * sentence for the operator for TLS files that can't be used.
 */
export async function runExtender(options: ExtenderOptions): Promise<void> {
  const { kubeconfig, zone, plugins, resources, isDryRun, log, signal, listen, tls } = options;
  warnOfChangingClocks(zone, log);
  const client = kubeconfig && new KubeClient(kubeconfig, signal, { userAgent: USER_AGENT });
  const common = client && { client, log, signal };
  const metrics: ExtenderMetrics = new ExtenderMetrics({
    isSynced: () => notReady() === '',
    nodes: () => loads?.size ?? 0,
    topologies: () => state?.topologyCount ?? 0,
    pods: () => state?.podCount ?? 0,
    policyIsRefused: () => policy.isRefused,
  });
  const { path, first } = options.policy;
  const policy = new PolicyWatch({ path, first, onReload: (result) => metrics.policyReloaded(result), log });
  const records = new NodeRecords();
  const loads = common && new NodeLoads({ ...common, records, policy: policy.current, zone });
  const state =
    common && plugins.NodeResourceTopologyMatch !== undefined ? new TopologyState({ ...common, records }) : undefined;
  const notReady = (): string => {
    if (loads && !loads.isSynced) return 'the Nodes are not known yet';
    return state && !state.isSynced ? 'the NodeResourceTopologies and pods are not known yet' : '';
  };
  const seen = new SeenPods();
  const strategy = () => policy.current().wholeCpus?.strategy;
  const binder =
    common &&
    new Binder({
      ...common,
      state: isDryRun ? undefined : state,
      seen,
      resources,
      strategy,
      onConflict: () => metrics.claimConflicted(),
    });
  const decisions = new DecisionLog(records);
  const judge = new Judge({ plugins, policy: policy.current, state });
  const shared = { judge, records, loads, binder, seen, decisions, metrics, zone, resources, notReady, log };
  const { maxRequestBytes } = options;
  const verbs = new SchedulerVerbs({ ...shared, policy: policy.current, dryRun: isDryRun, maxRequestBytes });
  const server = await startHttpServer({
    address: listen,
    ...(tls && { tls }),
    // A client's certificate says who asks: then any name of a Service will do.
    ...(tls?.clientCa === undefined && {
      hosts: { accepts: acceptHosts([listen.host]), remedy: 'write the address of --listen' },
    }),
    maxConnections: MAX_CONNECTIONS,
    requestMs: REQUEST_MS,
    log,
    routes: listRoutes({ verbs, decisions, metrics, notReady, maxBytes: maxRequestBytes, log }),
  }).catch((error: unknown) => {
    policy.close();
    throw error;
  });
  try {
    log.info({ host: listen.host, port: server.port, plugins, isDryRun }, 'the extender listens');
    const checks = common && state && keepCheckingClaims({ ...common, state });
    await Promise.all([loads?.run(), state?.run(), checks, untilAborted(signal)]);
  } finally {
    policy.close();
    await server.close();
  }
}

interface RouteParts {
  readonly verbs: SchedulerVerbs;
  readonly decisions: DecisionLog;
  readonly metrics: ExtenderMetrics;
  readonly notReady: () => string;
  readonly maxBytes: number;
  readonly log: Logger;
}

function listRoutes({ verbs, decisions, metrics, notReady, maxBytes, log }: RouteParts): readonly HttpRoute[] {
  const serve = (verb: Verb, act: (body: Buffer) => object | Promise<object>): HttpRoute => ({
    method: 'POST',
    path: `/${verb}`,
    bodyType: 'application/json',
    maxBodyBytes: maxBytes,
    handle: async ({ body }): Promise<HttpAnswer> => {
      const startMs = performance.now();
      let result: 'ok' | 'bad-request' | 'error' = 'error';
      try {
        const answer = answerJson(await act(body));
        result = 'ok';
        return answer;
      } catch (error) {
        if (!(error instanceof BadRequest)) throw error;
        result = 'bad-request';
        log.warn({ verb, because: error.message }, 'a request is not of the extender protocol');
        return answerText(error.message, 400);
      } finally {
        metrics.requestTook(verb, result, (performance.now() - startMs) / 1_000);
      }
    },
  });
  return [
    serve('filter', (body) => verbs.filter(body)),
    serve('prioritize', (body) => verbs.prioritize(body)),
    serve('bind', (body) => verbs.bind(body)),
    serve('preempt', (body) => verbs.preempt(body)),
    {
      method: 'GET',
      path: '/healthz',
      isPublic: true,
      anyHost: true,
      handle: () => {
        const because = notReady();
        return because === '' ? { ...answerText(''), body: 'ok' } : answerText(because, 503);
      },
    },
    {
      method: 'GET',
      path: '/metrics',
      handle: async () => ({ status: 200, contentType: metrics.contentType, body: await metrics.expose() }),
    },
    { method: 'GET', path: '/explain', handle: ({ query }) => explain(decisions, query) },
  ];
}

/** `/explain?pod=NAMESPACE/NAME`, with `&node=NODE` for one node only. */
function explain(decisions: DecisionLog, query: URLSearchParams): HttpAnswer {
  const [namespace, name, ...more] = (query.get('pod') ?? '').split('/');
  if (!namespace || !name || more.length > 0) return answerText('write /explain?pod=NAMESPACE/NAME', 400);
  const found = decisions.explain(namespace, name, query.get('node') ?? undefined);
  return found ? answerJson(found) : answerText('no decision on this pod is remembered here', 404);
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
