import { execFileSync } from 'node:child_process';
import { setMaxListeners } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KubeClient, MERGE_PATCH } from '../../../../src/kube/api/kube-client';
import { KubeError } from '../../../../src/kube/api/kube-error';
import { type ControlPlane, startControlPlane } from '../../../e2e/rig/api-server';
import { projectRoot } from '../../../e2e/rig/project-root';
import { waitUntil } from '../../../support/wait-until';
import { formatSchedulerConfig, type SchedulerSettings } from './documented';
import { ObjectTable } from './object-table';
import { type Pod, podOf, type PodRequest, podsPath, type Topology, topologyPaths } from './objects';
import { PluginLog } from './plugin-log';

type Scheduler = 'kube-scheduler' | 'kube-scheduler-plugins';

export interface ClusterOptions {
  /** The kind of NodeResourceTopology that is defined, and that `topologies` follows. Default: the community's. */
  readonly kind?: keyof typeof topologyPaths;
  /** Files of `deploy` that are applied beside the rights of cpusetd. */
  readonly manifests?: readonly string[];
}

/** The rights of annotator and extender, and the policies that limit them. */
export const schedulingManifests = ['namespace', 'rbac', 'validating-admission-policy'].map(
  (name) => `scheduling/${name}.yaml`,
);

/**
 * A control plane without a controller manager, for nodes that only tests know; with what cpusetd and the schedulers
 * need.
 */
export class Cluster {
  readonly pods: ObjectTable<Pod>;
  readonly topologies: ObjectTable<Topology>;
  readonly client: KubeClient;

  private constructor(
    readonly plane: ControlPlane,
    private readonly folder: string,
    private readonly end: AbortController,
    private readonly topologiesPath: string,
  ) {
    const { signal } = end;
    setMaxListeners(0, signal);
    const client = (this.client = new KubeClient({ kind: 'file', path: plane.kubeconfigs.admin }, signal));
    this.pods = new ObjectTable<Pod>({ client, signal, path: podsPath });
    this.topologies = new ObjectTable<Topology>({ client, signal, path: topologiesPath });
  }

  static async start({ kind = 'community', manifests = [] }: ClusterOptions = {}): Promise<Cluster> {
    const folder = mkdtempSync(join(tmpdir(), 'cpusetd-cluster-'));
    const plane = await startControlPlane(
      ...['--only-api-server', '--scheduler-config', join(folder, 'scheduler.yaml')],
      ...(kind === 'crane' ? ['--kube-scheduler-config', join(folder, 'kube-scheduler.yaml')] : []),
    );
    const definition = definitions[kind];
    const cluster = new Cluster(plane, folder, new AbortController(), topologyPaths[kind]);
    const rights = ['namespace/namespace.yaml', 'base/service-account.yaml', 'components/api-server/rbac.yaml'];
    const applied = [...rights, definition, ...manifests].flatMap((file) => ['-f', file]);
    cluster.kubectl('apply', '--server-side', ...applied);
    cluster.kubectl('wait', '--for=condition=Established', '--timeout=60s', '-f', definition);
    // A controller would create it.
    cluster.kubectl('create', 'serviceaccount', 'default');
    return cluster;
  }

  /** Runs kubectl as administrator, in the folder `deploy`. @returns what it prints */
  kubectl(...args: readonly string[]): string {
    const { programs, kubeconfigs } = this.plane;
    return execFileSync(join(programs, 'kubectl'), ['--kubeconfig', kubeconfigs.admin, ...args], {
      encoding: 'utf8',
      cwd: join(projectRoot(), 'deploy'),
    });
  }

  /** The path of a kubeconfig with a token of a service account of `deploy`, such as cpusetd's. */
  kubeconfigOf(account: string, namespace: string): string {
    const path = join(this.folder, `${namespace}-${account}.kubeconfig`);
    if (existsSync(path)) return path;
    const token = this.kubectl('create', 'token', account, '--namespace', namespace, '--duration', '2h').trim();
    writeFileSync(path, withToken(readFileSync(this.plane.kubeconfigs.admin, 'utf8'), token));
    return path;
  }

  get signal(): AbortSignal {
    return this.end.signal;
  }

  /**
   * Starts the scheduler of scheduler-plugins with deploy/scheduler-plugins/scheduler.yaml. It knows the topologies
   * that are published by now.
   */
  async startTopologyScheduler(settings: SchedulerSettings): Promise<PluginLog> {
    writeFileSync(join(this.folder, 'scheduler.yaml'), formatSchedulerConfig(settings));
    const log = new PluginLog(join(this.plane.work, 'kube-scheduler-plugins.log'));
    await this.plane.start('kube-scheduler-plugins');
    await log.waitFor('the scheduler to be ready', ({ kind }) => kind === 'ready');
    return log;
  }

  /**
   * Starts kube-scheduler. @param config its KubeSchedulerConfiguration, in a cluster with the kind of topologies of
   * Crane
   */
  startScheduler(config?: string): Promise<void> {
    if (config !== undefined) writeFileSync(join(this.folder, 'kube-scheduler.yaml'), config);
    return this.plane.start('kube-scheduler');
  }

  /** Ends the scheduler. Its lease goes too: the next one would wait until it has expired. */
  async stopScheduler(name: Scheduler): Promise<void> {
    await this.plane.kill(name);
    const path = `/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/${name}`;
    try {
      await this.client.send({ method: 'DELETE', path });
    } catch (error) {
      if (!(error instanceof KubeError && error.status === 404)) throw error;
    }
  }

  async create(request: PodRequest): Promise<void> {
    await this.client.send({ method: 'POST', path: podsPath, body: podOf(request) });
  }

  /** Deletes the pods and waits until they are gone. */
  async remove(...names: readonly string[]): Promise<void> {
    for (const name of names)
      await this.client.send({ method: 'DELETE', path: `${podsPath}/${name}`, query: { gracePeriodSeconds: '5' } });
    await waitUntil(`${names.join()} to be gone`, () => names.every((name) => !this.pods.byName.has(name)));
  }

  async removeAll(): Promise<void> {
    await this.remove(...this.pods.byName.keys());
  }

  /** Waits until the pod is in this phase. */
  async reaches(name: string, phase: 'Running' | 'Succeeded' | 'Failed'): Promise<Pod> {
    await waitUntil(`${name} to be ${phase}`, () => this.pods.byName.get(name)?.status.phase === phase, undefined, {
      seen: () => this.pods.byName.get(name)?.status,
    });
    return this.pods.byName.get(name)!;
  }

  /** Changes a label of a topology that nobody reads: an event for schedulers. */
  async changeTopology(node: string): Promise<void> {
    const body = { metadata: { labels: { changed: `at-${Math.round(performance.now())}` } } };
    await this.client.send({ method: 'PATCH', path: `${this.topologiesPath}/${node}`, contentType: MERGE_PATCH, body });
  }

  /** The requests that were refused for a missing right. */
  listForbidden(): string[] {
    const denied = readFileSync(this.plane.auditLog, 'utf8')
      .split('\n')
      .filter((line) => line.includes('"code":403'));
    return denied.map((line) => {
      const { user, verb, requestURI } = JSON.parse(line) as {
        user: { username: string };
        verb: string;
        requestURI: string;
      };
      return `${user.username} ${verb} ${requestURI}`;
    });
  }

  async stop(): Promise<void> {
    this.end.abort();
    await this.plane.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const definitions = {
  community: 'crds/noderesourcetopologies.topology.node.k8s.io.yaml',
  crane: 'crds/noderesourcetopologies.topology.crane.io.yaml',
};

function withToken(kubeconfig: string, token: string): string {
  const config = JSON.parse(kubeconfig) as { users: { user: object }[] };
  config.users[0]!.user = { token };
  return JSON.stringify(config);
}
