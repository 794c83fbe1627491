import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { BindOutcome } from './bind/binder';
import type { PluginName } from './plugins';

/** The verbs of the extender protocol. */
export type Verb = 'filter' | 'prioritize' | 'bind' | 'preempt';

/** Seconds; kube-scheduler gives up after 5 by default. */
const BUCKETS = [0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.015, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

export interface MetricSources {
  readonly isSynced: () => boolean;
  readonly nodes: () => number;
  readonly topologies: () => number;
  readonly pods: () => number;
  /** The policy file has mistakes, and an older policy is in force. */
  readonly policyIsRefused: () => boolean;
}

/** The metrics of the extender, `cpusetd_extender_*`. */
export class ExtenderMetrics {
  private readonly registry = new Registry();
  private readonly registers = [this.registry];
  private readonly requests = new Counter({
    name: 'cpusetd_extender_requests_total',
    help: 'Requests of the scheduler by verb and result (ok, bad-request, error).',
    labelNames: ['verb', 'result'] as const,
    registers: this.registers,
  });
  private readonly seconds = new Histogram({
    name: 'cpusetd_extender_request_seconds',
    help: 'Time of answering a request, by verb.',
    labelNames: ['verb'] as const,
    buckets: BUCKETS,
    registers: this.registers,
  });
  private readonly rejections = new Counter({
    name: 'cpusetd_extender_rejected_nodes_total',
    help: 'Nodes that filter left out, by plugin and by the metric or resource that decided.',
    labelNames: ['plugin', 'subject'] as const,
    registers: this.registers,
  });
  private readonly unplaced = new Counter({
    name: 'cpusetd_extender_unplaced_pods_total',
    help: 'Calls of filter that left out all nodes.',
    registers: this.registers,
  });
  private readonly bindings = new Counter({
    name: 'cpusetd_extender_bindings_total',
    help: 'Bindings by result (bound, no-fit, conflict, failed).',
    labelNames: ['result'] as const,
    registers: this.registers,
  });
  private readonly conflicts = new Counter({
    name: 'cpusetd_extender_claim_conflicts_total',
    help: 'Claims that were decided again, since the node or another replica had changed its zones meanwhile.',
    registers: this.registers,
  });
  private readonly policyReloads = new Counter({
    name: 'cpusetd_extender_policy_reloads_total',
    help: 'Changed policy files by result (ok, failed); after a failure the old policy stays in force.',
    labelNames: ['result'] as const,
    registers: this.registers,
  });

  constructor({ isSynced, nodes, topologies, pods, policyIsRefused }: MetricSources) {
    for (const result of ['ok', 'failed'] as const) this.policyReloads.inc({ result }, 0);
    for (const result of ['bound', 'no-fit', 'conflict', 'failed'] as const) this.bindings.inc({ result }, 0);
    this.gauge('synced', '1 when the caches are filled.', () => (isSynced() ? 1 : 0));
    this.gauge('cached_nodes', 'Nodes in the cache.', nodes);
    this.gauge('cached_topologies', 'NodeResourceTopologies in the cache.', topologies);
    this.gauge('cached_pods', 'Bound pods with a topology result in the cache.', pods);
    this.gauge('policy_refused', '1 while the policy file has mistakes and an older policy is in force.', () =>
      policyIsRefused() ? 1 : 0,
    );
    collectDefaultMetrics({ register: this.registry });
  }

  get contentType(): string {
    return this.registry.contentType;
  }

  /** All figures in Prometheus' text format. */
  expose(): Promise<string> {
    return this.registry.metrics();
  }

  requestTook(verb: Verb, result: 'ok' | 'bad-request' | 'error', seconds: number): void {
    this.requests.inc({ verb, result });
    this.seconds.observe({ verb }, seconds);
  }

  nodesRejected(plugin: PluginName, subject: string, count: number): void {
    this.rejections.inc({ plugin, subject: subject || 'topology' }, count);
  }

  podUnplaced(): void {
    this.unplaced.inc();
  }

  bound(outcome: BindOutcome): void {
    this.bindings.inc({ result: outcome.ok ? 'bound' : outcome.result });
  }

  claimConflicted(): void {
    this.conflicts.inc();
  }

  policyReloaded(result: 'ok' | 'failed'): void {
    this.policyReloads.inc({ result });
  }

  private gauge(name: string, help: string, read: () => number): void {
    new Gauge({
      name: `cpusetd_extender_${name}`,
      help,
      registers: this.registers,
      collect() {
        this.set(read());
      },
    });
  }
}
