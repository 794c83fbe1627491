import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { ContainerState, ListContainersRequest, RuntimeServiceDefinition } from '../../gen/cri/v1/cri';
import { type Daemon, poll, type Runtime, startDaemon, startRuntime, type Suite, waitUntil } from '../../e2e/rig';
import { readClusterFacts } from './cluster-facts';
import { ClusterPod, oneCpu, type PodTemplate } from './cluster-pod';
import { kubeApi, kubectl } from './kube-api';
import { type KubeletProcess, startKubelet } from './kubelet-process';
import { type NodeTopology, topologiesOf, type TopologyGroup } from './node-topology';
import type { Condition, KubeNode } from './objects';
import { reservedCpus } from './cpus';

const { listContainers } = RuntimeServiceDefinition.methods;

/** The way that cpusetd is connected to the runtime of a node. */
export type Mode = 'nri' | 'cri-proxy';

/** A part of a node that can be killed and started again. */
export type Part = 'kubelet' | 'runtime' | 'cpusetd';

export interface NodeOptions {
  readonly suite: Suite;
  readonly mode: Mode;
  /** Settings of the kubelet's configuration that differ from those of scripts/cluster/kubelet-config.mjs. */
  readonly kubelet?: Readonly<Record<string, unknown>>;
  /**
   * Arguments of `cpusetd run` besides those for the node itself. Default: it reserves the same CPUs as the kubelet.
   */
  readonly args?: readonly string[];
  /** The identity of cpusetd, instead of that of all tests. `none`: cpusetd knows no API server. */
  readonly kubeconfig?: string;
  /** The program that runs cpusetd, instead of this Node.js. */
  readonly program?: string;
  /** `none`: the test brings cpusetd itself, such as a pod of the DaemonSet. */
  readonly cpusetd?: 'none';
}

let nodes = 0;

const podResourcesSocketOf = ({ work }: Runtime): string => join(work, 'run/cpusetd/pod-resources.sock');

/** A node of the cluster: a kubelet, a runtime and cpusetd, all real. */
export class ClusterNode {
  private pods = 0;

  constructor(
    readonly name: string,
    readonly address: string,
    readonly runtime: Runtime,
    private readonly cpusetd: Daemon | undefined,
    readonly kubelet: KubeletProcess,
  ) {}

  /** The socket of cpusetd for PodResources alone. */
  get podResourcesSocket(): string {
    return podResourcesSocketOf(this.runtime);
  }

  /** cpusetd as a process of the host. @throws where the test brings another */
  get daemon(): Daemon {
    if (this.cpusetd === undefined) throw new Error(`node ${this.name} has no cpusetd of the host`);
    return this.cpusetd;
  }

  read(): Promise<KubeNode> {
    return kubeApi.get(`/api/v1/nodes/${this.name}`);
  }

  /** A condition of the Node. Undefined when there is none, or no Node. */
  async condition(name: string): Promise<Condition | undefined> {
    const node = await kubeApi.find<KubeNode>(`/api/v1/nodes/${this.name}`);
    return node?.status.conditions?.find(({ type }) => type === name);
  }

  /** Its NodeResourceTopology of this kind; undefined when there is none. */
  topology(group: TopologyGroup = 'topology.node.k8s.io'): Promise<NodeTopology | undefined> {
    return kubeApi.find(`${topologiesOf(group)}/${this.name}`);
  }

  /** The CPUs that its NodeResourceTopology offers, of all zones; undefined when there is none. */
  async availableCpus(): Promise<number | undefined> {
    const resources = (await this.topology())?.zones.flatMap((zone) => zone.resources);
    return resources?.filter(({ name }) => name === 'cpu').reduce((sum, { available }) => sum + Number(available), 0);
  }

  /** Waits until the kubelet reports the node as ready, in a report of a later second than `since`. */
  async ready(since = 0): Promise<void> {
    const isReady = async (): Promise<boolean> => {
      const ready = await this.condition('Ready');
      return ready?.status === 'True' && Date.parse(ready.lastHeartbeatTime ?? '') > since;
    };
    await waitUntil(`node ${this.name} is ready`, isReady, 90_000, { everyMs: 100 });
  }

  /**
   * Kills these parts of the node, all of them, and then starts them in this order; waits until the node works again.
   */
  async restart(...parts: readonly Part[]): Promise<void> {
    for (const part of parts) await this.kill(part);
    const since = Date.now();
    for (const part of parts) await this.start(part);
    if (parts.includes('cpusetd')) await this.daemon.ready();
    await this.ready(parts.includes('kubelet') ? since : 0);
  }

  async reboot(): Promise<void> {
    await this.powerOff();
    await this.powerOn();
  }

  /** Ends every process at once, as a power failure does. Files outside /run and /tmp are kept. */
  async powerOff(): Promise<void> {
    await this.kubelet.kill();
    await this.daemon.kill();
    await this.runtime.powerOff();
  }

  /** Starts the node as a boot does: the runtime, cpusetd, the kubelet. */
  async powerOn(): Promise<void> {
    const since = Date.now();
    for (const part of ['runtime', 'cpusetd', 'kubelet'] as const) await this.start(part);
    await this.daemon.ready();
    await this.ready(since);
  }

  /** Ends a part with SIGKILL; containers go on. */
  async kill(part: Part): Promise<void> {
    await (part === 'cpusetd' ? this.daemon : this[part]).kill();
  }

  /** Starts a part that was killed. Only the runtime is ready then. */
  async start(part: Part): Promise<void> {
    await (part === 'cpusetd' ? this.daemon : this[part]).start();
  }

  /** Creates a pod for this node, and waits for nothing. */
  async createPod(template: PodTemplate): Promise<ClusterPod> {
    const name = template.name ?? `pod-${++this.pods}`;
    return ClusterPod.create(this, { ...template, name });
  }

  /** Creates a pod for this node, and waits until all of its containers run. */
  async runPod(template: PodTemplate): Promise<ClusterPod> {
    const pod = await this.createPod(template);
    await pod.running();
    return pod;
  }

  /**
   * Creates a pod of one CPU, and waits for the Event of cpusetd that it has none for it. No scheduler refuses the pod
   * before.
   */
  async refusePod(name: string): Promise<ClusterPod> {
    const pod = await this.createPod({ name, containers: [oneCpu], spec: { nodeName: this.name } });
    await pod.untilEvents('the Event of the refusal', (events) =>
      events.some(({ reason }) => reason === 'CpusRefused'),
    );
    return pod;
  }

  /** Deletes all pods of the test, and waits until they are gone. */
  async deletePods(): Promise<void> {
    await kubectl('delete', 'pods', '--all', '--namespace', this.name, '--grace-period', '0', '--force', '--wait');
    await waitUntil('no container is left', async () => (await this.countContainers()) === 0, 60_000, { everyMs: 50 });
  }

  /**
   * The number of containers that the runtime has, without exited ones: a kubelet that was restarted removes those a
   * minute later.
   */
  async countContainers(): Promise<number> {
    const request = ListContainersRequest.create();
    const { containers } = await this.runtime.kubelet.channel.call(listContainers, request);
    return containers.filter(({ state }) => state !== ContainerState.CONTAINER_EXITED).length;
  }

  /**
   * Ends everything, and removes the Node and the namespace of its pods. @throws when something is left behind by the
   * runtime
   */
  async stop(): Promise<void> {
    await this.kubelet.stop();
    await this.cpusetd?.dispose();
    await this.runtime.stop();
    await kubectl('delete', 'node', this.name, '--ignore-not-found');
    await kubectl('delete', 'namespace', this.name, '--ignore-not-found', '--wait=false');
  }
}

/**
 * Starts a node and waits until it is ready. Its pods are in a namespace of their own with the node's name. A node that
 * does not become ready is ended again.
 */
export async function startNode(options: NodeOptions): Promise<ClusterNode> {
  const { suite, mode, kubelet: ownSettings = {}, args, kubeconfig, program, cpusetd } = options;
  // Workers of jest run at once: each has addresses of its own.
  const number = 10 * Number(process.env['JEST_WORKER_ID'] ?? 1) + (nodes++ % 10);
  // A name is used once: the namespace of an earlier node may still be going.
  const name = `node-${suite}-${mode}-${randomBytes(3).toString('hex')}`;
  const address = `10.99.0.${number}`;
  execFileSync('ip', ['address', 'replace', `${address}/32`, 'dev', 'lo']);
  const started: (() => Promise<unknown>)[] = [];
  try {
    const runtime = await startRuntime({ suite, nri: mode === 'nri' });
    started.push(() => runtime.stop());
    mkdirSync(join(runtime.work, 'run/cpusetd'), { recursive: true });
    const chosen = {
      ...(kubeconfig !== undefined && { kubeconfig }),
      ...(program !== undefined && { program }),
      ...(args && { args }),
    };
    const daemon = cpusetd === 'none' ? undefined : startCpusetd({ runtime, mode, name, ...chosen });
    if (daemon !== undefined) started.push(() => daemon.dispose());
    await daemon?.ready();
    const socket = mode === 'nri' || cpusetd === 'none' ? runtime.criSocketInside : '/run/cpusetd/cri.sock';
    const endpoint = `unix://${socket}`;
    const settings = { containerRuntimeEndpoint: endpoint, reservedSystemCPUs: reservedCpus, ...ownSettings };
    await kubeApi.create('/api/v1/namespaces', { metadata: { name } });
    const kubelet = await startKubelet({ runtime, name, address, settings });
    started.push(() => kubelet.stop());
    const node = new ClusterNode(name, address, runtime, daemon, kubelet);
    await node.ready();
    const account = `/api/v1/namespaces/${name}/serviceaccounts/default`;
    await poll('the default service account', () => kubeApi.find(account));
    return node;
  } catch (error) {
    for (const end of started.reverse()) await end().catch(() => undefined);
    throw error;
  }
}

function startCpusetd({
  runtime,
  mode,
  name,
  kubeconfig,
  program,
  args,
}: Pick<NodeOptions, 'mode' | 'kubeconfig' | 'program' | 'args'> & {
  readonly runtime: Runtime;
  readonly name: string;
}): Daemon {
  const api = [
    ...['--kubeconfig', kubeconfig ?? readClusterFacts().cpusetdKubeconfig],
    ...['--kube-events', 'on', '--node-condition', 'on', '--node-resource-topology', 'both'],
  ];
  return startDaemon({
    runtime,
    criListen: join(runtime.work, 'run/cpusetd/cri.sock'),
    ...(program !== undefined && { node: program }),
    args: [
      ...['--mode', mode, '--node-name', name, '--kubelet-root-dir', join(runtime.work, 'kubelet')],
      ...(kubeconfig === 'none' ? [] : api),
      ...['--pod-resources-socket', podResourcesSocketOf(runtime), '--reconcile-period', '1s'],
      ...(args ?? ['--reserved-cpus', reservedCpus]),
    ],
  });
}
