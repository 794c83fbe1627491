import { execFileSync } from 'node:child_process';
import { setMaxListeners } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KubeClient, MERGE_PATCH } from '../../../../src/kube/api/kube-client';
import { type ControlPlane, startControlPlane } from '../../../e2e/rig/api-server';
import { projectRoot } from '../../../e2e/rig/project-root';
import { waitUntil } from '../../../support/wait-until';
import { formatSchedulerConfig, type SchedulerSettings } from './documented';
import { ObjectTable } from './object-table';
import { type Pod, podOf, type PodRequest, podsPath, type Topology, topologiesPath } from './objects';
import { PluginLog } from './plugin-log';

type Scheduler = 'kube-scheduler' | 'kube-scheduler-plugins';

/** A control plane without a controller manager, for nodes that only tests know; with what cpusetd and the schedulers need. */
export class Cluster {
  readonly pods: ObjectTable<Pod>;
  readonly topologies: ObjectTable<Topology>;
  readonly client: KubeClient;

  private constructor(
    readonly plane: ControlPlane,
    private readonly folder: string,
    private readonly end: AbortController,
  ) {
    const { signal } = end;
    setMaxListeners(0, signal);
    const client = (this.client = new KubeClient({ kind: 'file', path: plane.kubeconfigs.admin }, signal));
    this.pods = new ObjectTable<Pod>({ client, signal, path: podsPath });
    this.topologies = new ObjectTable<Topology>({ client, signal, path: topologiesPath });
  }

  static async start(): Promise<Cluster> {
    const folder = mkdtempSync(join(tmpdir(), 'cpusetd-cluster-'));
    const plane = await startControlPlane('--only-api-server', '--scheduler-config', join(folder, 'scheduler.yaml'));
    const kubectl = (...args: string[]): string =>
      execFileSync(join(plane.programs, 'kubectl'), ['--kubeconfig', plane.kubeconfigs.admin, ...args], {
        encoding: 'utf8',
        cwd: join(projectRoot(), 'deploy'),
      });
    const definition = 'crds/noderesourcetopologies.topology.node.k8s.io.yaml';
    kubectl('apply', '--server-side', '-f', '00-namespace.yaml', '-f', 'rbac.yaml', '-f', definition);
    kubectl('wait', '--for=condition=Established', '--timeout=60s', '-f', definition);
    // A controller would create it.
    kubectl('create', 'serviceaccount', 'default');
    const token = kubectl('create', 'token', 'cpusetd', '--namespace', 'cpusetd', '--duration', '2h').trim();
    writeFileSync(join(folder, 'kubeconfig'), withToken(readFileSync(plane.kubeconfigs.admin, 'utf8'), token));
    return new Cluster(plane, folder, new AbortController());
  }

  /** The kubeconfig of cpusetd: a token of the service account of deploy/rbac.yaml. */
  get kubeconfig(): string {
    return join(this.folder, 'kubeconfig');
  }

  get signal(): AbortSignal {
    return this.end.signal;
  }

  /** Starts the scheduler of scheduler-plugins with deploy/scheduler-plugins/scheduler.yaml. It knows the topologies that are published by now. */
  async startTopologyScheduler(settings: SchedulerSettings): Promise<PluginLog> {
    writeFileSync(join(this.folder, 'scheduler.yaml'), formatSchedulerConfig(settings));
    const log = new PluginLog(join(this.plane.work, 'kube-scheduler-plugins.log'));
    await this.plane.start('kube-scheduler-plugins');
    await log.waitFor('the scheduler to be ready', ({ kind }) => kind === 'ready');
    return log;
  }

  startScheduler(): Promise<void> {
    return this.plane.start('kube-scheduler');
  }

  stopScheduler(name: Scheduler): Promise<void> {
    return this.plane.kill(name);
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
    await this.client.send({ method: 'PATCH', path: `${topologiesPath}/${node}`, contentType: MERGE_PATCH, body });
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

function withToken(kubeconfig: string, token: string): string {
  const config = JSON.parse(kubeconfig) as { users: { user: object }[] };
  config.users[0]!.user = { token };
  return JSON.stringify(config);
}
