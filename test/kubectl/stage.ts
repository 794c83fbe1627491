import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { countNodeResources } from '../../src/core/node-resources/node-resources';
import { measureRoom } from '../../src/core/node-resources/room';
import { runPlugin } from '../../src/kubectl/program';
import { communityTopology } from '../../src/kube/node-resource-topology/community-topology';
import { craneTopology } from '../../src/kube/node-resource-topology/crane-topology';
import type { NodeSummary } from '../../src/kube/node-resource-topology/node-summary';
import type { Report } from '../../src/kube/node-resource-topology/topology-resource';
import type { CliRun } from '../support/run-cli';
import { FakeApiServer, type Json } from '../support/kube/api-server';
import { readRightsOf } from '../support/kube/rbac';
import { build } from '../cli/topology/machines';
import { NodeDriver, type Rules } from '../core/transition/node-driver';

export const COMMUNITY = '/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies';
export const CRANE = '/apis/topology.crane.io/v1alpha1/noderesourcetopologies';
export const viewerRights = (): Set<string> => readRightsOf('kubectl/viewer.yaml');

/**
 * The differences from an empty node that is ready: two NUMA nodes of four cores with two threads, and CPU 0 reserved.
 */
export interface NodeTemplate {
  /** Steps of `NodeDriver`. */
  readonly steps?: string;
  readonly rules?: Rules;
  readonly summary?: Partial<NodeSummary>;
  readonly spec?: object;
  readonly labels?: Record<string, string>;
  /** Null: no condition. */
  readonly condition?: object | null;
  /** `none`: it publishes no topology; `crane`: only that kind. */
  readonly publishes?: 'none' | 'crane' | 'both';
  /** Those of Crane's topology. */
  readonly annotations?: Record<string, string>;
}

/** A fake API server with nodes as cpusetd publishes them, and the plugin with the rights of a viewer. */
export class Stage {
  private readonly folder = mkdtempSync(join(tmpdir(), 'kubectl-cpuset-'));

  constructor(readonly server = new FakeApiServer({ rights: viewerRights() })) {}

  async start(): Promise<this> {
    await this.server.start();
    writeFileSync(join(this.folder, 'config'), this.server.kubeconfig);
    return this;
  }

  async stop(): Promise<void> {
    await this.server.stop();
    rmSync(this.folder, { recursive: true });
  }

  addNode(name: string, template: NodeTemplate = {}): void {
    const { spec = {}, labels = {}, condition = {}, publishes, annotations = {} } = template;
    const ready = {
      type: 'CpusetdReady',
      status: 'True',
      reason: 'Pinning',
      message: 'containers get their CPUs as promised',
      lastHeartbeatTime: new Date().toISOString(),
      ...condition,
    };
    this.server.put('/api/v1/nodes', {
      metadata: { name, labels },
      spec,
      status: { allocatable: { cpu: '15' }, conditions: condition === null ? [] : [ready] },
    });
    if (publishes === 'none') return;
    const report = reportOf(name, template);
    if (publishes !== 'crane') this.server.put(COMMUNITY, { metadata: { name }, ...communityTopology.build(report) });
    if (publishes === 'crane' || publishes === 'both')
      this.server.put(CRANE, { metadata: { name, annotations }, ...craneTopology.build(report) });
  }

  /** A pod of a ReplicaSet with Guaranteed containers, `app` with so many CPUs each unless it says otherwise. */
  addPod(namespace: string, name: string, cpus: readonly (number | string)[], more: PodMore = {}): void {
    const { node, spec = {}, status, ...metadata } = more;
    const amounts = (cpu: number | string) => ({ cpu: String(cpu), memory: '64Mi' });
    this.server.put('/api/v1/pods', {
      metadata: {
        namespace,
        name,
        uid: `uid-${name}`,
        ownerReferences: [{ kind: 'ReplicaSet', controller: true }],
        ...metadata,
      },
      spec: {
        ...(node !== undefined && { nodeName: node }),
        containers: cpus.map((cpu, i) => {
          return {
            name: i === 0 ? 'app' : `app-${i + 1}`,
            resources: { requests: amounts(cpu), limits: amounts(cpu) },
          };
        }),
        ...spec,
      },
      status: status ?? { phase: node === undefined ? 'Pending' : 'Running' },
    });
  }

  /** A pod of the DaemonSet whose endpoint is at a port of this machine. */
  addDaemon(node: string, port: number | undefined, args: readonly string[] = []): void {
    this.server.put('/api/v1/pods', {
      metadata: {
        uid: `cpusetd-${node}`,
        namespace: 'cpusetd',
        name: `cpusetd-${node}`,
        labels: { 'app.kubernetes.io/name': 'cpusetd' },
      },
      spec: { nodeName: node, containers: [{ name: 'cpusetd', args: ['run', ...args] }] },
      status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
    });
    if (port !== undefined) this.server.podPorts.set(`cpusetd/cpusetd-${node}`, port);
  }

  /** Runs the plugin. `columns`: in a terminal of that width without colours. */
  async run(args: readonly string[], { columns, env = {} }: RunOptions = {}): Promise<CliRun> {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const terminal = columns === undefined ? {} : { isTTY: true, columns, rows: 24 };
    const printed = Promise.all([text(stdout), text(stderr)]);
    const end = new AbortController();
    const status = await runPlugin(args, {
      stdout: Object.assign(stdout, terminal),
      stderr,
      env: { KUBECONFIG: join(this.folder, 'config'), NO_COLOR: '1', ...env },
      signal: end.signal,
      version: '0.0.0',
    });
    end.abort();
    stdout.end();
    stderr.end();
    const [out, err] = await printed;
    return { status, stdout: out, stderr: err };
  }

  /** The rights that requests so far have used, sorted. */
  get paths(): string[] {
    return [...new Set(this.server.requests.map(({ path }) => path))].sort();
  }
}

interface PodMore {
  readonly status?: object;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly node?: string;
  readonly spec?: object;
  readonly annotations?: Json;
  readonly labels?: Json;
  readonly ownerReferences?: readonly object[];
}

interface RunOptions {
  readonly columns?: number;
  readonly env?: Record<string, string>;
}

function reportOf(name: string, { steps, rules, summary }: NodeTemplate): Report {
  const driver = new NodeDriver(build(1, 2, 1, 4, 2), { reserved: '0', ...rules });
  if (steps !== undefined) driver.run(steps);
  const { model } = driver;
  const resources = countNodeResources(model);
  const { rules: published, zones } = resources;
  return {
    node: { name, uid: `uid-${name}`, labels: {} },
    resources,
    kubeletIsStatic: false,
    summary: {
      policy: published.policy,
      available: zones.map(({ cpu }) => cpu.available),
      ...measureRoom(model),
      pinned: model.assignments.size,
      verdicts: {},
      alarms: [],
      ...summary,
    },
  };
}

/** The nodes of most tests, and of the examples in docs/kubectl.md. */
export function addSampleCluster(stage: Stage): void {
  stage.addNode('worker-1', { steps: 'make a/x 4; make b/x 2' });
  stage.addNode('worker-2', {
    steps: 'make a/x 5; make b/x 6',
    rules: {
      topologyManager: {
        policy: 'single-numa-node',
        scope: 'container',
        options: { preferClosestNumaNodes: false, maxAllowableNumaNodes: 8 },
      },
    },
    summary: {
      verdicts: { drifted: 1 },
      alarms: ['repairs-stopped'],
      gap: { from: '2026-11-25T10:00:00.000Z', to: '2026-11-25T10:00:03.000Z', containers: 2 },
    },
    condition: {
      status: 'False',
      reason: 'Alarm',
      message: 'container shop/web: its cpuset is written again and again',
    },
  });
  stage.addNode('worker-3', { rules: { options: { fullPcpusOnly: true } }, spec: { unschedulable: true } });
  stage.addNode('worker-10', { publishes: 'none', condition: null });
}
