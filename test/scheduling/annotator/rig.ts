import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { runAnnotator, type AnnotatorOptions } from '../../../src/scheduling/annotator/run-annotator';
import { TimeZone } from '../../../src/scheduling/load/time-zone';
import type { SchedulerPolicy } from '../../../src/scheduling/policy/policy';
import { FakePrometheus } from '../../support/fake-prometheus';
import { FakeApiServer, type FakeApiServerOptions, type Json, type SeenRequest } from '../../support/kube/api-server';

export const NODES = '/api/v1/nodes';
export const PODS = '/api/v1/pods';
export const EVENTS = '/api/v1/events';
export const LEASES = '/apis/coordination.k8s.io/v1/leases';

/** The rights of the annotator, and no others. */
export const RIGHTS = new Set([
  '/nodes list',
  '/nodes watch',
  '/nodes patch',
  '/pods list',
  '/pods watch',
  'coordination.k8s.io/leases get',
  'coordination.k8s.io/leases create',
  'coordination.k8s.io/leases update',
]);

export const POLICY: SchedulerPolicy = {
  syncPolicy: [
    { name: 'cpu_usage_avg_5m', periodMs: 180_000 },
    { name: 'mem_usage_avg_5m', periodMs: 180_000 },
  ],
  predicate: [],
  priority: [],
  hotValue: [
    { timeRangeMs: 300_000, count: 5 },
    { timeRangeMs: 60_000, count: 2 },
  ],
};

export const LEASE = {
  namespace: 'crane-system',
  name: 'crane-scheduler-controller',
  leaseDurationMs: 600_000, // a busy machine loses no lease
  renewDeadlineMs: 300_000,
  retryPeriodMs: 50,
};

export interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** A stand-in API server and a stand-in Prometheus, and annotators between them. */
export class Rig {
  readonly prometheus = new FakePrometheus();
  readonly api: FakeApiServer;
  private readonly folder = mkdtempSync(join(tmpdir(), 'annotator-'));
  private readonly running: (() => Promise<unknown>)[] = [];

  private constructor(options: FakeApiServerOptions) {
    this.api = new FakeApiServer({ rights: RIGHTS, ...options });
  }

  static async start(options: FakeApiServerOptions = {}): Promise<Rig> {
    const rig = new Rig(options);
    await Promise.all([rig.api.start(), rig.prometheus.start()]);
    return rig;
  }

  get kubeconfig(): string {
    const path = join(this.folder, 'kubeconfig');
    writeFileSync(path, this.api.kubeconfig);
    return path;
  }

  addNode(name: string, address?: string, more: Json = {}): void {
    const addresses = address === undefined ? [] : [{ type: 'InternalIP', address }];
    this.api.put(NODES, { metadata: { name, uid: `uid-${name}`, ...more }, status: { addresses } });
  }

  /** A pod that a scheduler has bound. */
  bindPod(pod: string, node: string, { timeMs = Date.now(), uid = `uid-${pod}`, more = {} } = {}): void {
    const creationTimestamp = new Date(timeMs - 60_000).toISOString();
    const lastTransitionTime = new Date(timeMs).toISOString();
    this.api.put(PODS, {
      metadata: { name: pod, namespace: 'default', uid, creationTimestamp },
      spec: { nodeName: node },
      status: { phase: 'Running', conditions: [{ type: 'PodScheduled', status: 'True', lastTransitionTime }] },
      ...more,
    });
  }

  /** A Scheduled event as kube-scheduler writes it. */
  addEvent(pod: string, node: string, { uid = `uid-${pod}`, timeMs = Date.now(), more = {} } = {}): void {
    this.api.put(EVENTS, {
      metadata: { name: `${pod}.1`, namespace: 'default', uid: `event-${pod}` },
      type: 'Normal',
      reason: 'Scheduled',
      message: `Successfully assigned default/${pod} to ${node}`,
      involvedObject: { kind: 'Pod', namespace: 'default', name: pod, uid },
      eventTime: new Date(timeMs).toISOString().replace('Z', '000Z'),
      lastTimestamp: null,
      firstTimestamp: null,
      ...more,
    });
  }

  annotations(node: string): Readonly<Record<string, string>> {
    const object = this.api.get(NODES, node) as { metadata: { annotations?: Record<string, string> } } | undefined;
    return object?.metadata.annotations ?? {};
  }

  get patches(): SeenRequest[] {
    return this.api.requests.filter(({ method }) => method === 'PATCH');
  }

  /** Runs an annotator until `stop`. */
  run(options: Partial<AnnotatorOptions> = {}) {
    const end = new AbortController();
    const lines: LogLine[] = [];
    const { levels } = pino();
    const write = (line: string): void => {
      const fields = JSON.parse(line) as Record<string, unknown>;
      lines.push({ ...fields, level: levels.labels[fields['level'] as number]! } as unknown as LogLine);
    };
    const outcome = runAnnotator({
      policy: POLICY,
      zone: TimeZone.of('UTC'),
      kubeconfig: { kind: 'file', path: this.kubeconfig },
      prometheus: { address: this.prometheus.address },
      bindingHeapSize: 1024,
      bindingSource: 'pods',
      concurrentSyncs: 8,
      healthPort: 0,
      isDryRun: false,
      log: pino({ level: 'debug' }, { write }),
      signal: end.signal,
      ...options,
    });
    const stop = async (): Promise<'ended' | 'lost'> => {
      end.abort();
      return outcome;
    };
    outcome.catch(() => undefined);
    this.running.push(() => stop().catch(() => undefined));
    return { outcome, stop, lines };
  }

  async close(): Promise<void> {
    await Promise.all(this.running.map((stop) => stop()));
    await Promise.all([this.api.stop(), this.prometheus.stop()]);
    rmSync(this.folder, { recursive: true });
  }
}
