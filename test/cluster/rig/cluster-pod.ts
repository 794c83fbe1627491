import { poll, readMask, readQuotaUs, waitUntil } from '../../e2e/rig';
import { type CpusetFiles, readCpuset, readPids, writeCpuset } from '../../e2e/rig/cgroup-files';
import type { ClusterNode } from './cluster-node';
import { kubeApi, kubectl } from './kube-api';
import type { ContainerStatus, KubeEvent, KubePod } from './objects';
import { findCgroup } from './find-cgroup';

/**
 * A container of a pod's spec. `cpu` and `memory` are limits and requests at once; `requests` alone make it Burstable.
 */
export interface ContainerTemplate {
  readonly name: string;
  readonly cpu?: number | string;
  readonly memory?: string;
  readonly requests?: Readonly<Record<string, string>>;
  /** Default: it prints the CPUs of its first process, and waits until SIGTERM. */
  readonly command?: readonly string[];
  /** Further fields of the container. */
  readonly more?: object;
}

export interface PodTemplate {
  readonly name?: string;
  readonly containers: readonly ContainerTemplate[];
  readonly initContainers?: readonly ContainerTemplate[];
  readonly annotations?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  /** Further fields of the pod's spec. */
  readonly spec?: object;
}

/** The container of a Guaranteed pod with one whole CPU. */
export const oneCpu: ContainerTemplate = { name: 'main', cpu: 1, memory: '64Mi' };

/** The time for what takes a kubelet some rounds. */
const kubeletMs = 90_000;
const everyMs = 50;

/** A pod of the cluster. */
export class ClusterPod {
  readonly path: string;

  private constructor(
    readonly node: ClusterNode,
    readonly name: string,
    readonly uid: string,
  ) {
    this.path = `/api/v1/namespaces/${node.name}/pods/${name}`;
  }

  static async create(node: ClusterNode, template: PodTemplate & { readonly name: string }): Promise<ClusterPod> {
    const body = {
      metadata: { name: template.name, annotations: template.annotations, labels: template.labels },
      spec: {
        nodeSelector: { 'kubernetes.io/hostname': node.name },
        terminationGracePeriodSeconds: 0,
        hostNetwork: true,
        containers: template.containers.map(toContainer),
        ...(template.initContainers && { initContainers: template.initContainers.map(toContainer) }),
        ...template.spec,
      },
    };
    const pod = await kubeApi.create<KubePod>(`/api/v1/namespaces/${node.name}/pods`, body);
    return new ClusterPod(node, template.name, pod.metadata.uid);
  }

  /** A pod that exists already, such as the mirror pod of a static one. */
  static async find(node: ClusterNode, name: string): Promise<ClusterPod> {
    const path = `/api/v1/namespaces/${node.name}/pods/${name}`;
    const pod = await poll(`pod ${name}`, () => kubeApi.find<KubePod>(path), kubeletMs, everyMs);
    return new ClusterPod(node, name, pod.metadata.uid);
  }

  read(): Promise<KubePod> {
    return kubeApi.get(this.path);
  }

  /** Waits until the pod, as the API server has it, is as wanted. */
  async until(what: string, isSo: (pod: KubePod) => boolean, deadlineMs = kubeletMs): Promise<KubePod> {
    let last: KubePod | undefined;
    const ask = async (): Promise<KubePod | undefined> => {
      last = await kubeApi.find<KubePod>(this.path);
      return last !== undefined && isSo(last) ? last : undefined;
    };
    return poll(what, ask, deadlineMs, everyMs).catch((error: unknown) => {
      throw new Error(`${String(error)}\nits status: ${JSON.stringify(last?.status)}`, { cause: error });
    });
  }

  /** Waits until all containers run. */
  async running(): Promise<void> {
    const isReady = ({ status }: KubePod) =>
      status.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
    await this.until(`pod ${this.name} runs`, isReady);
  }

  /** Waits until this container has another instance than the given one, and the pod is ready. */
  async restarted({ name, containerID }: ContainerStatus): Promise<KubePod> {
    return this.until(`container ${name} is restarted`, (pod) =>
      containersOf(pod).some((now) => now.name === name && now.containerID !== containerID && now.ready),
    );
  }

  /** The status of a container, init container or ephemeral container. */
  async container(name: string): Promise<ContainerStatus> {
    const found = containersOf(await this.read()).find((container) => container.name === name);
    if (found === undefined) throw new Error(`pod ${this.name} has no status of container ${name}`);
    return found;
  }

  /** The cgroup of a running container. */
  async cgroup(name: string): Promise<string> {
    const { containerID = '' } = await this.container(name);
    return findCgroup(this.node.runtime.cgroupRoot, containerID.replace(/^.*:\/\//, ''));
  }

  /** The cpuset of a running container, from the kernel. */
  async cpuset(name: string): Promise<CpusetFiles> {
    return readCpuset(await this.cgroup(name));
  }

  /** Kills all processes of a container. */
  async killProcesses(name: string): Promise<void> {
    for (const pid of await this.pids(name)) process.kill(pid, 'SIGKILL');
  }

  /** The processes of a running container, as the host numbers them. */
  async pids(name: string): Promise<number[]> {
    return readPids(await this.cgroup(name));
  }

  /** The allowed CPUs of each process of a container, from the kernel. */
  async masks(name: string): Promise<string[]> {
    return (await this.pids(name)).map(readMask);
  }

  /** The CFS quota of a container, in µs per period; -1 = none. */
  async quotaUs(name: string): Promise<number> {
    return readQuotaUs(await this.cgroup(name));
  }

  /** Causes drift: writes the cpuset of a container past everybody. */
  async writeCpuset(name: string, cpus: string): Promise<void> {
    writeCpuset(await this.cgroup(name), cpus);
  }

  /** The lines that a container printed, by `kubectl logs`. */
  async log(container: string, ...more: string[]): Promise<string[]> {
    const text = await kubectl('logs', this.name, '--namespace', this.node.name, '--container', container, ...more);
    return text.split('\n').filter((line) => line !== '');
  }

  /** The first line that a container printed: by default the CPUs of its first process. */
  async firstLine(container: string): Promise<string> {
    return poll(`output of ${container}`, async () => (await this.log(container))[0], kubeletMs, 200);
  }

  /** Resizes a container in place (`pods/resize`), and waits for nothing. */
  async resize(container: string, cpu: string): Promise<void> {
    const resources = { requests: { cpu }, limits: { cpu } };
    const body = { spec: { containers: [{ name: container, resources }] } };
    await kubeApi.patch(`${this.path}/resize`, body, 'application/strategic-merge-patch+json');
  }

  /** The events about this pod. */
  async events(): Promise<readonly KubeEvent[]> {
    const query = { fieldSelector: `involvedObject.name=${this.name}` };
    const path = `/api/v1/namespaces/${this.node.name}/events`;
    return (await kubeApi.get<{ items: KubeEvent[] }>(path, query)).items;
  }

  /** Waits until the events about this pod are as wanted. */
  async untilEvents(what: string, isSo: (events: readonly KubeEvent[]) => boolean): Promise<readonly KubeEvent[]> {
    let last: readonly KubeEvent[] = [];
    const seen = () => last.map(({ reason, message }) => `${reason}: ${message}`);
    await waitUntil(what, async () => isSo((last = await this.events())), kubeletMs, { everyMs, seen });
    return last;
  }

  describe(): Promise<string> {
    return kubectl('describe', 'pod', this.name, '--namespace', this.node.name);
  }

  /** Deletes it, and waits until the API server has no such pod. */
  async delete(): Promise<void> {
    await kubeApi.delete(this.path);
    await this.gone();
  }

  /** Waits until the API server has no such pod. */
  async gone(): Promise<void> {
    const isGone = async () => (await kubeApi.find<KubePod>(this.path))?.metadata.uid !== this.uid;
    await waitUntil(`pod ${this.name} is gone`, isGone, kubeletMs, { everyMs });
  }
}

/** All statuses of containers, of each kind. */
export const containersOf = ({ status }: KubePod): readonly ContainerStatus[] => [
  ...(status.initContainerStatuses ?? []),
  ...(status.containerStatuses ?? []),
  ...(status.ephemeralContainerStatuses ?? []),
];

/**
 * The command of one process of the shell that does nothing until SIGTERM, and then ends at once with the status of
 * that. The kernel gives the first process of a container no signal that it does not handle, and a kubelet waits two
 * seconds before it kills one, whatever the grace period.
 */
export const waitForSigterm = 'trap "exit 143" TERM; busybox mkfifo /wait; read -r _ <>/wait';

/** Prints the CPUs that its first instruction could run on, then waits. */
const printMaskThenWait = ['sh', '-c', `sed -n "s/^Cpus_allowed_list:\\s*//p" /proc/self/status; ${waitForSigterm}`];

/** A container as in a pod's spec. */
export function toContainer({ name, cpu, memory, requests, command, more }: ContainerTemplate): object {
  const limits = { ...(cpu !== undefined && { cpu: String(cpu) }), ...(memory !== undefined && { memory }) };
  return {
    name,
    image: 'localhost/busybox:1',
    imagePullPolicy: 'Never',
    command: command ?? printMaskThenWait,
    resources: { limits, ...(requests && { requests }) },
    ...more,
  };
}
