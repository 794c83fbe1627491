import { createHash } from 'node:crypto';

import {
  Container,
  ContainerState,
  PodSandbox,
  type ContainerUpdate,
  type LinuxResources,
} from '../../gen/nri/v1alpha1/nri';

export type QosClass = 'guaranteed' | 'burstable' | 'besteffort';

export interface PodSpec {
  readonly name: string;
  readonly namespace?: string;
  /** The uid that the API server gave; default: one made from the names. */
  readonly uid?: string;
  readonly qos?: QosClass;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface ContainerSpec {
  readonly name: string;
  /** Requested CPU in thousandths; the limit as well, in a guaranteed pod. */
  readonly milliCpu?: number;
  readonly memoryBytes?: number;
  /** The cpuset that the kubelet asks for, where it has a CPU manager of its own. */
  readonly cpus?: string;
}

/** A pod sandbox as containerd describes it, with cgroup names of the cgroupfs driver. */
export function makePod({
  name,
  namespace = 'default',
  qos = 'guaranteed',
  annotations = {},
  ...spec
}: PodSpec): PodSandbox {
  const made = idOf('uid', namespace, name).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*/, '$1-$2-$3-$4-$5');
  const { uid = made } = spec;
  const cgroupParent = qos === 'guaranteed' ? `/kubepods/pod${uid}` : `/kubepods/${qos}/pod${uid}`;
  return PodSandbox.create({
    id: idOf('sandbox', namespace, name),
    name,
    uid,
    namespace,
    labels: { 'io.kubernetes.pod.name': name },
    annotations: { 'io.kubernetes.cri.sandbox-name': name, ...annotations },
    linux: { cgroupParent, podOverhead: { cpu: { shares: {}, quota: {}, period: {} }, memory: { limit: {} } } },
  });
}

/** A container as the kubelet requests it: no state, no process id, no cpuset unless the kubelet sets one. */
export function makeContainer(pod: PodSandbox, spec: ContainerSpec): Container {
  const { name, milliCpu = 0, memoryBytes = 0, cpus = '' } = spec;
  const id = idOf('container', pod.id, name);
  const isGuaranteed = !/burstable|besteffort/.test(pod.linux?.cgroupParent ?? '');
  return Container.create({
    id,
    podSandboxId: pod.id,
    name,
    labels: { 'io.kubernetes.container.name': name },
    args: ['/bin/sleep', '1000'],
    env: ['PATH=/bin', 'LOG_LEVEL=info'],
    mounts: [{ destination: '/proc', type: 'proc', source: 'proc', options: ['nosuid', 'noexec', 'nodev'] }],
    linux: {
      cgroupsPath: `${pod.linux?.cgroupParent ?? ''}/${id}`,
      oomScoreAdj: { value: isGuaranteed ? -997n : 936n },
      resources: {
        cpu: {
          shares: { value: BigInt(Math.max(2, Math.floor((milliCpu * 1024) / 1000))) },
          ...(isGuaranteed &&
            milliCpu > 0 && { quota: { value: BigInt(milliCpu * 100) }, period: { value: 100_000n } }),
          cpus,
        },
        memory: { limit: { value: BigInt(memoryBytes) } },
      },
    },
  });
}

/** An id made from names. The same names give the same id, so that a failing test shows the same text each time. */
function idOf(...names: readonly string[]): string {
  return createHash('sha256').update(names.join('/')).digest('hex');
}

/** Merges CPU resources as a runtime does: fields that are absent, empty or zero stay unchanged. */
export function mergeCpu(container: Container, resources: LinuxResources | undefined): void {
  const target = container.linux?.resources?.cpu;
  const source = resources?.cpu;
  if (!target || !source) return;
  if (source.cpus !== '') target.cpus = source.cpus;
  if (source.mems !== '') target.mems = source.mems;
  if (source.shares?.value) target.shares = source.shares;
  if (source.quota?.value) target.quota = source.quota;
  if (source.period?.value) target.period = source.period;
}

/** Applies updates one by one; unknown containers are ignored, as containerd does. */
export function applyUpdates(containers: ReadonlyMap<string, Container>, updates: readonly ContainerUpdate[]): void {
  for (const { containerId, linux } of updates) {
    const container = containers.get(containerId);
    if (container) mergeCpu(container, linux?.resources);
  }
}

/** True for containers that Synchronize lists for a new plugin: exited ones, and those under creation, are left out. */
export function isListed({ state }: Container): boolean {
  return state === ContainerState.CONTAINER_CREATED || state === ContainerState.CONTAINER_RUNNING;
}
