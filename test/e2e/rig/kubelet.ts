import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { NamespaceMode, NamespaceOption, PodSandboxConfig, RuntimeServiceDefinition } from '../../gen/cri/v1/cri';
import { type Channel, openChannel } from '../../../src/cri/client';
import { classify, nameCgroupParent, type Qos, type ResourceSpec, toPodResources } from './kubelet-numbers';
import { RunningPod, stopPod } from './pod';
import type { RuntimeFacts } from './runtime';
import { nameSlice } from './systemd-cgroups';

const { methods } = RuntimeServiceDefinition;

const requestTimeoutMs = 120_000;

export interface ContainerSpec extends ResourceSpec {
  readonly name: string;
  readonly command?: readonly string[];
  /** The cpuset of the kubelet's own CPU manager; empty without one. */
  readonly cpusetCpus?: string;
  /** The memory nodes of the kubelet's memory manager; empty without one. */
  readonly cpusetMems?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Folders of the host, mounted read-only. */
  readonly mounts?: readonly { readonly hostPath: string; readonly containerPath: string }[];
}

export interface PodSpec {
  readonly name?: string;
  readonly namespace?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  /** All containers of the pod: its QoS class and its resources follow from them. */
  readonly containers: readonly ContainerSpec[];
  /** One PID namespace for all containers: the pod then has a pause container on CRI-O too. */
  readonly shareProcessNamespace?: boolean;
  /** Overrides the class that follows from the containers. */
  readonly qos?: Qos;
}

/** The host network needs no network plugin. */
export const namespacesOf = ({ shareProcessNamespace }: PodSpec): NamespaceOption =>
  NamespaceOption.create({
    network: NamespaceMode.NODE,
    pid: shareProcessNamespace === true ? NamespaceMode.POD : NamespaceMode.CONTAINER,
  });

/** A fake kubelet: makes pods and containers over CRI, with the numbers, names and labels that a kubelet sends. */
export class Kubelet {
  readonly channel: Channel;
  private readonly facts: RuntimeFacts;
  private pods = 0;

  constructor(
    criSocket: string,
    facts: RuntimeFacts,
    channel: Channel = openChannel(criSocket, RuntimeServiceDefinition.fullName),
  ) {
    // The default of the kubelet (runtimeRequestTimeout), so that a slow disk causes no failure.
    const patient: Channel['call'] = (method, request, options) =>
      channel.call(method, request, { timeoutMs: requestTimeoutMs, ...options });
    this.channel = { call: patient, close: () => channel.close() };
    this.facts = facts;
  }

  /** Runs the sandbox of a pod. Its containers are created with the methods of the result. */
  async runPod(spec: PodSpec): Promise<RunningPod> {
    const uid = randomUUID();
    const name = spec.name ?? `pod-${++this.pods}`;
    const namespace = spec.namespace ?? 'default';
    const qos = spec.qos ?? classify(spec.containers);
    const logFolder = `${namespace}_${name}_${uid}`;
    const cgroupParent = nameCgroupParent(this.facts.cgroupRoot, qos, uid);
    const config = PodSandboxConfig.create({
      metadata: { name, uid, namespace, attempt: 0 },
      logDirectory: join(this.facts.podLogs.inRuntime, logFolder),
      labels: {
        ...spec.labels,
        'io.kubernetes.pod.name': name,
        'io.kubernetes.pod.namespace': namespace,
        'io.kubernetes.pod.uid': uid,
      },
      annotations: {
        ...spec.annotations,
        'kubernetes.io/config.seen': new Date().toISOString(),
        'kubernetes.io/config.source': 'api',
      },
      linux: {
        cgroupParent: this.facts.cgroupDriver === 'systemd' ? nameSlice(cgroupParent) : cgroupParent,
        // The kubelet gives a pod in the host network no hostname.
        securityContext: { namespaceOptions: namespacesOf(spec) },
        overhead: {},
        resources: toPodResources(spec.containers),
      },
    });
    const { podSandboxId } = await this.channel.call(methods.runPodSandbox, { config, runtimeHandler: '' });
    const logsOnHost = join(this.facts.podLogs.onHost, logFolder);
    return new RunningPod(
      this.channel,
      { id: podSandboxId, uid, name, namespace, qos, logsOnHost, runtime: this.facts },
      config,
      spec,
      this.facts.image,
    );
  }

  /** Removes a pod by the id of its sandbox, such as one that was made through a proxy that has ended. */
  async removePod(podSandboxId: string): Promise<void> {
    await stopPod(this.channel, podSandboxId, this.facts, { waitForReady: true });
    await this.channel.call(methods.removePodSandbox, { podSandboxId });
  }

  /** Removes all pods that the runtime has, also those of other kubelets. */
  async removePods(): Promise<void> {
    const { items } = await this.channel.call(methods.listPodSandbox, { filter: undefined }, { waitForReady: true });
    for (const { id } of items) await this.removePod(id);
  }

  close(): void {
    this.channel.close();
  }
}
