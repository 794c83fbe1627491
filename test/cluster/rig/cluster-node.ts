import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { ListContainersRequest, RuntimeServiceDefinition } from '../../../gen/cri/v1/cri';
import { type Daemon, poll, type Runtime, startDaemon, startRuntime, type Suite, waitUntil } from '../../e2e/rig';
import { readClusterFacts } from './cluster-facts';
import { ClusterPod, type PodTemplate } from './cluster-pod';
import { kubeApi, kubectl } from './kube-api';
import { type KubeletProcess, startKubelet } from './kubelet-process';
import type { KubeNode } from './objects';

const { listContainers } = RuntimeServiceDefinition.methods;

/** The way that cpusetd is connected to the runtime of a node. */
export type Mode = 'nri' | 'cri-proxy';

export interface NodeOptions {
  readonly suite: Suite;
  readonly mode: Mode;
  /** Settings of the kubelet's configuration that differ from those of scripts/cluster/kubelet-config.mjs. */
  readonly kubelet?: Readonly<Record<string, unknown>>;
  /** Arguments of `cpusetd run` besides those for the node itself. Default: CPU 0 is reserved, as for the kubelet. */
  readonly args?: readonly string[];
}

let nodes = 0;

/** A node of the cluster: a kubelet, a runtime and cpusetd, all real. */
export class ClusterNode {
  #pods = 0;

  constructor(
    readonly name: string,
    readonly address: string,
    readonly runtime: Runtime,
    readonly daemon: Daemon,
    readonly kubelet: KubeletProcess,
  ) {}

  read(): Promise<KubeNode> {
    return kubeApi.get(`/api/v1/nodes/${this.name}`);
  }

  /** Waits until the API server knows the node as ready since its kubelet's last start. */
  async ready(): Promise<void> {
    const isReady = async (): Promise<boolean> => {
      const node = await kubeApi.find<KubeNode>(`/api/v1/nodes/${this.name}`);
      return node?.status.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
    };
    await waitUntil(`node ${this.name} is ready`, isReady, 90_000, { everyMs: 100 });
  }

  /** Creates a pod for this node, and waits for nothing. */
  async createPod(template: PodTemplate): Promise<ClusterPod> {
    const name = template.name ?? `pod-${++this.#pods}`;
    return ClusterPod.create(this, { ...template, name });
  }

  /** Creates a pod for this node, and waits until all of its containers run. */
  async runPod(template: PodTemplate): Promise<ClusterPod> {
    const pod = await this.createPod(template);
    await pod.running();
    return pod;
  }

  /** Deletes all pods of the test, and waits until they are gone. */
  async deletePods(): Promise<void> {
    await kubectl('delete', 'pods', '--all', '--namespace', this.name, '--grace-period', '0', '--force', '--wait');
    await waitUntil('no container is left', async () => (await this.countContainers()) === 0, 60_000, { everyMs: 50 });
  }

  /** The number of containers that the runtime has, running or not. */
  async countContainers(): Promise<number> {
    const request = ListContainersRequest.create();
    const { containers } = await this.runtime.kubelet.channel.call(listContainers, request);
    return containers.length;
  }

  /** Ends everything, and removes the Node and the namespace of its pods. @throws when something is left behind by the runtime */
  async stop(): Promise<void> {
    await this.kubelet.stop();
    await this.daemon.dispose();
    await this.runtime.stop();
    await kubectl('delete', 'node', this.name, '--ignore-not-found');
    await kubectl('delete', 'namespace', this.name, '--ignore-not-found', '--wait=false');
  }
}

/** Starts a node and waits until it is ready. Its pods are in a namespace of their own with the node's name. */
export async function startNode({ suite, mode, kubelet = {}, args }: NodeOptions): Promise<ClusterNode> {
  // Workers of jest run at once: each has names and addresses of its own.
  const number = 10 * Number(process.env['JEST_WORKER_ID'] ?? 1) + (nodes++ % 10);
  const name = `node-${suite}-${mode}-${number}-${nodes}`;
  const address = `10.99.0.${number}`;
  execFileSync('ip', ['address', 'replace', `${address}/32`, 'dev', 'lo']);
  const runtime = await startRuntime({ suite, nri: mode === 'nri' });
  mkdirSync(join(runtime.work, 'run/cpusetd'), { recursive: true });
  const { cpusetdKubeconfig } = readClusterFacts();
  const daemon = startDaemon({
    runtime,
    criListen: join(runtime.work, 'run/cpusetd/cri.sock'),
    args: [
      ...['--mode', mode, '--node-name', name, '--kubeconfig', cpusetdKubeconfig],
      ...['--kubelet-root-dir', join(runtime.work, 'kubelet'), '--kube-events', 'on', '--node-condition', 'on'],
      ...['--node-resource-topology', 'both', '--reconcile-period', '1s'],
      ...(args ?? ['--reserved-cpus', '0']),
    ],
  });
  await daemon.ready();
  const socket = mode === 'nri' ? runtime.criSocketInside : '/run/cpusetd/cri.sock';
  const settings = { containerRuntimeEndpoint: `unix://${socket}`, ...kubelet };
  await kubeApi.create('/api/v1/namespaces', { metadata: { name } });
  const process_ = await startKubelet({ runtime, name, address, settings });
  const node = new ClusterNode(name, address, runtime, daemon, process_);
  await node.ready();
  await poll('the default service account', () => kubeApi.find(`/api/v1/namespaces/${name}/serviceaccounts/default`));
  return node;
}
