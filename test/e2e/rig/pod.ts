import { join } from 'node:path';
import {
  ContainerConfig,
  ContainerFilter,
  CreateContainerRequest,
  LinuxContainerResources,
  Mount,
  PodSandboxConfig,
  PodSandboxMetadata,
  RuntimeServiceDefinition,
} from '../../gen/cri/v1/cri';
import type { Channel } from '../../../src/cri/client';
import { RunningContainer } from './container';
import { makeLogFolder } from './container-log';
import { type ContainerSpec, namespacesOf, type PodSpec } from './kubelet';
import { type Qos, toContainerResources } from './kubelet-numbers';
import type { RuntimeFacts } from './runtime';
import { cgroupPathOf, nameUnit } from './systemd-cgroups';

const { methods } = RuntimeServiceDefinition;

/** Facts about the runtime that the life of a pod depends on. */
type RuntimeTraits = Pick<RuntimeFacts, 'cgroupPrefix' | 'hasOtherDriver' | 'stopsPodsGracefully'>;

export interface PodFacts {
  /** The id of the sandbox. */
  readonly id: string;
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  readonly qos: Qos;
  readonly logsOnHost: string;
  readonly runtime: RuntimeTraits;
}

/** Stops a sandbox, and with it all containers. None has time to end by itself. */
export async function stopPod(
  channel: Channel,
  id: string,
  { stopsPodsGracefully }: RuntimeTraits,
  options: Parameters<Channel['call']>[2] = {},
): Promise<void> {
  if (stopsPodsGracefully) {
    const filter = ContainerFilter.create({ podSandboxId: id });
    const { containers } = await channel.call(methods.listContainers, { filter }, options);
    for (const { id: containerId } of containers)
      await channel.call(methods.stopContainer, { containerId, timeout: 0n });
  }
  await channel.call(methods.stopPodSandbox, { podSandboxId: id }, options);
}

export class RunningPod {
  readonly id: string;
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  readonly qos: Qos;
  readonly cgroupParent: string;
  private readonly attempts = new Map<string, number>();

  constructor(
    private readonly channel: Channel,
    private readonly facts: PodFacts,
    private readonly config: PodSandboxConfig,
    private readonly spec: PodSpec,
    private readonly image: string,
  ) {
    ({ id: this.id, uid: this.uid, name: this.name, namespace: this.namespace, qos: this.qos } = facts);
    this.cgroupParent = config.linux?.cgroupParent ?? '';
  }

  /** The same pod for another kubelet, such as one that was started again. */
  through({ channel }: { readonly channel: Channel }): RunningPod {
    return new RunningPod(channel, this.facts, this.config, this.spec, this.image);
  }

  /** The same pod in a new sandbox, as the kubelet makes one when the last has ended. */
  async inNewSandbox(): Promise<RunningPod> {
    const metadata = PodSandboxMetadata.create(this.config.metadata);
    const config = PodSandboxConfig.create({
      ...this.config,
      metadata: { ...metadata, attempt: metadata.attempt + 1 },
    });
    const { podSandboxId: id } = await this.channel.call(methods.runPodSandbox, { config, runtimeHandler: '' });
    const pod = new RunningPod(this.channel, { ...this.facts, id }, config, this.spec, this.image);
    for (const [name, attempts] of this.attempts) pod.attempts.set(name, attempts);
    return pod;
  }

  /**
   * The pause container of the sandbox. Only its cgroup and its processes can be read: it has no log and no id in CRI.
   */
  get pause(): RunningContainer {
    return new RunningContainer(this.channel, this.id, 'pause', this.cgroupOf(this.id), '');
  }

  /**
   * Creates a container of the spec, without starting it. Called again, it restarts the container as the kubelet does.
   */
  async createContainer(name: string): Promise<RunningContainer> {
    const spec = this.spec.containers.find((container) => container.name === name);
    if (spec === undefined) throw new Error(`pod ${this.name} has no container ${name} in its spec`);
    const attempt = this.attempts.get(name) ?? 0;
    this.attempts.set(name, attempt + 1);
    const logFile = join(this.facts.logsOnHost, name, `${attempt}.log`);
    makeLogFolder(logFile);
    const request = CreateContainerRequest.create({
      podSandboxId: this.id,
      config: this.configOf(spec, attempt),
      sandboxConfig: this.config,
    });
    const { containerId } = await this.channel.call(methods.createContainer, request);
    const cgroupPath = this.cgroupOf(containerId);
    return new RunningContainer(this.channel, containerId, name, cgroupPath, logFile);
  }

  /** Creates and starts a container of the spec. */
  async startContainer(name: string): Promise<RunningContainer> {
    const container = await this.createContainer(name);
    await container.start();
    return container;
  }

  /** Stops the sandbox, and with it all containers. None has time to end by itself. */
  async stop(): Promise<void> {
    await stopPod(this.channel, this.id, this.facts.runtime);
  }

  async remove(): Promise<void> {
    await this.stop();
    await this.channel.call(methods.removePodSandbox, { podSandboxId: this.id });
  }

  private cgroupOf(id: string): string {
    const { cgroupPrefix, hasOtherDriver } = this.facts.runtime;
    return hasOtherDriver === true
      ? nameUnit(this.cgroupParent, id)
      : cgroupPathOf(this.cgroupParent, id, cgroupPrefix);
  }

  private configOf(spec: ContainerSpec, attempt: number): ContainerConfig {
    const resources = LinuxContainerResources.create({
      ...toContainerResources(spec, this.qos),
      cpusetCpus: spec.cpusetCpus ?? '',
      cpusetMems: spec.cpusetMems ?? '',
    });
    return ContainerConfig.create({
      metadata: { name: spec.name, attempt },
      image: { image: this.image, userSpecifiedImage: this.image },
      mounts: (spec.mounts ?? []).map((mount) => Mount.create({ ...mount, readonly: true })),
      envs: Object.entries(spec.env ?? {}).map(([key, value]) => ({ key, value: Buffer.from(value) })),
      command: [...(spec.command ?? ['sleep', '2147483647'])],
      labels: {
        'io.kubernetes.container.name': spec.name,
        'io.kubernetes.pod.name': this.name,
        'io.kubernetes.pod.namespace': this.namespace,
        'io.kubernetes.pod.uid': this.uid,
      },
      annotations: {
        'io.kubernetes.container.restartCount': String(attempt),
        'io.kubernetes.container.terminationMessagePath': '/dev/termination-log',
        'io.kubernetes.container.terminationMessagePolicy': 'File',
        'io.kubernetes.pod.terminationGracePeriod': '30',
      },
      logPath: `${spec.name}/${attempt}.log`,
      linux: {
        resources,
        securityContext: { namespaceOptions: namespacesOf(this.spec) },
      },
    });
  }
}
