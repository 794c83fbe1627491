import {
  type Container,
  ContainerState,
  type ContainerStatusResponse,
  type LinuxContainerResources,
  type PodSandbox,
  PodSandboxState,
  type PodSandboxStatusResponse,
} from '../../../gen/cri/view/view';
import { HugePageAmounts, nameOfPageSize } from '../../core/huge-pages';
import { DecisiveAnnotations } from '../../core/annotations/decisive';
import type { Annotations } from '../../core/annotations/annotations';
import type { ContainerInfo, ContainerPhase, PauseInfo, PodInfo } from '../../core/model/events';
import { takeMapEntry } from '../../wire/map-entry';
import { toCpuResources, type Resources } from '../messages/read-resources';
import { readRuntimeSpec } from './oci-spec';

/** A pod of a list, which has no cgroup (see {@link toPodInfoOfStatus}), and its state. */
export interface ListedPod extends PodInfo {
  /** False once the sandbox was stopped, or died. */
  readonly ready: boolean;
}

export const toListedPod = (pod: PodSandbox): ListedPod => ({
  ...toPodInfo(pod),
  ready: pod.state === PodSandboxState.SANDBOX_READY,
});

const toPodInfo = (pod: PodSandbox): PodInfo => ({
  sandboxId: pod.id,
  uid: pod.metadata?.uid ?? '',
  namespace: pod.metadata?.namespace ?? '',
  name: pod.metadata?.name ?? '',
  annotations: toAnnotations(pod.annotations),
  cgroupParent: '',
});

/** Keeps the annotations that matter to the core; the others are not decoded. */
function toAnnotations(entries: readonly Uint8Array[]): Annotations {
  const kept = new DecisiveAnnotations();
  for (const entry of entries) takeMapEntry(entry, kept);
  return kept.all;
}

/** A listed pod with its cgroup, which only the verbose status has. */
export const toPodInfoOfStatus = (pod: PodSandbox, status: PodSandboxStatusResponse): PodInfo => {
  const pause = toPauseInfo(status);
  return { ...toPodInfo(pod), cgroupParent: parentOf(pause?.cgroupsPath ?? ''), ...(pause && { pause }) };
};

/** The pause container by the verbose status of its sandbox; undefined where the runtime reports none. */
export function toPauseInfo({ info }: PodSandboxStatusResponse): PauseInfo | undefined {
  const spec = readRuntimeSpec(info);
  if (!spec || spec.cgroupsPath === '') return undefined;
  const { cgroupsPath, pid } = spec;
  const { cpus } = spec.resources;
  return { cgroupsPath, ...(pid !== undefined && { pid }), ...(cpus !== undefined && { cpus }) };
}

/** A container of a list: no cgroup and no resources. */
export const toContainerInfo = (container: Container): ContainerInfo => ({
  id: container.id,
  sandboxId: container.podSandboxId,
  name: container.metadata?.name ?? '',
  phase: toPhase(container.state),
  cgroupsPath: '',
  resources: {},
});

/**
 * A listed container with what its verbose status adds. The runtime's spec wins over the CRI resources: a CPU set that
 * an NRI plugin gave at creation shows only there.
 */
export function toContainerInfoOfStatus(
  container: Container,
  { status, info }: ContainerStatusResponse,
): ContainerInfo {
  const spec = readRuntimeSpec(info);
  const linux = status?.resources?.linux;
  const oomScoreAdj = spec?.oomScoreAdj ?? (linux === undefined ? undefined : Number(linux.oomScoreAdj));
  return {
    ...toContainerInfo(container),
    phase: toPhase(status?.state ?? container.state),
    cgroupsPath: spec?.cgroupsPath ?? '',
    ...(spec?.pid !== undefined && { pid: spec.pid }),
    resources: { ...(linux && toCpuResources(toResources(linux))), ...spec?.resources },
    ...(oomScoreAdj === undefined ? {} : { oomScoreAdj }),
  };
}

function toResources(linux: LinuxContainerResources): Resources {
  const hugePages = new HugePageAmounts();
  for (const { pageSize, limit } of linux.hugepageLimits) hugePages.set(nameOfPageSize(pageSize), Number(limit));
  return {
    hugePages,
    shares: Number(linux.cpuShares),
    quotaUs: Number(linux.cpuQuota),
    periodUs: Number(linux.cpuPeriod),
    memoryLimitBytes: Number(linux.memoryLimitInBytes),
    cpus: linux.cpusetCpus,
    mems: linux.cpusetMems,
  };
}

function toPhase(state: ContainerState): ContainerPhase {
  switch (state) {
    case ContainerState.CONTAINER_CREATED:
      return 'created';
    case ContainerState.CONTAINER_EXITED:
      return 'exited';
    // A container whose state is unknown may still have processes: its CPUs stay its own.
    default:
      return 'running';
  }
}

/** The cgroup above: `/kubepods/podU/<id>` gives `/kubepods/podU`, `<slice>:<prefix>:<id>` gives the slice. */
function parentOf(cgroupsPath: string): string {
  const [slice, prefix] = cgroupsPath.split(':');
  if (slice !== undefined && prefix !== undefined) return slice;
  return cgroupsPath.slice(0, Math.max(0, cgroupsPath.lastIndexOf('/')));
}
