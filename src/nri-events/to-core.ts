import type * as view from '../../gen/nri/view/view';
import { ContainerState } from '../../gen/nri/v1alpha1/nri';
import { DecisiveAnnotations } from '../core/annotations/decisive';
import type { Annotations } from '../core/annotations/annotations';
import { HugePageAmounts, nameOfPageSize, type HugePages } from '../core/huge-pages';
import type { ContainerInfo, ContainerPhase, CpuResources, PauseInfo, PodInfo } from '../core/model/events';
import { takeMapEntry } from '../wire/map-entry';

/** A pod sandbox as the core's type. Nothing is checked: absent parts become empty texts. */
export function toPodInfo(pod: view.PodSandbox): PodInfo {
  const podResources = toCpuResources(pod.linux?.podResources);
  return {
    sandboxId: pod.id,
    uid: pod.uid,
    namespace: pod.namespace,
    name: pod.name,
    annotations: toAnnotations(pod.annotations),
    cgroupParent: pod.linux?.cgroupParent ?? '',
    ...(hasAny(podResources) && { podResources }),
    ...(pod.linux && pod.linux.cgroupsPath !== '' && { pause: toPauseInfo(pod.linux, pod.pid) }),
  };
}

function toPauseInfo({ cgroupsPath, resources }: view.LinuxPodSandbox, pid: number): PauseInfo {
  const cpus = resources?.cpu?.cpus;
  return { cgroupsPath, ...(pid > 0 && { pid }), ...(cpus && { cpus }) };
}

/** Keeps the annotations that matter to the core; the others are not decoded. */
function toAnnotations(entries: readonly Uint8Array[]): Annotations {
  const kept = new DecisiveAnnotations();
  for (const entry of entries) takeMapEntry(entry, kept);
  return kept.all;
}

/** A container as the core's type, in the given phase, by default that of its `state`. */
export function toContainerInfo(container: view.Container, phase = phaseOf(container.state)): ContainerInfo {
  const { linux } = container;
  return {
    id: container.id,
    sandboxId: container.podSandboxId,
    name: container.name,
    phase,
    cgroupsPath: linux?.cgroupsPath ?? '',
    ...(container.pid > 0 && { pid: container.pid }),
    resources: toCpuResources(linux?.resources),
    ...(linux?.oomScoreAdj && { oomScoreAdj: Number(linux.oomScoreAdj.value) }),
  };
}

/**
 * CPU and memory of a message. A wrapper that is present with the value 0 means "not set", like an absent one: runtimes
 * send all wrappers of an update request, and of a pod overhead nobody asked for.
 */
export function toCpuResources(resources: view.LinuxResources | undefined): CpuResources {
  const result: { -readonly [Key in keyof CpuResources]: CpuResources[Key] } = {};
  const cpu = resources?.cpu;
  if (isSet(cpu?.shares)) result.shares = Number(cpu.shares.value);
  if (isSet(cpu?.quota)) result.quotaUs = Number(cpu.quota.value);
  if (isSet(cpu?.period)) result.periodUs = Number(cpu.period.value);
  if (isSet(resources?.memory?.limit)) result.memoryLimitBytes = Number(resources.memory.limit.value);
  if (resources !== undefined && resources.hugepageLimits.length > 0) {
    const hugePages = toHugePages(resources.hugepageLimits);
    if (hugePages) result.hugePages = hugePages;
  }
  if (cpu?.cpus) result.cpus = cpu.cpus;
  if (cpu?.mems) result.mems = cpu.mems;
  return result;
}

/** The kubelet sends all sizes of the machine, most of them with the limit 0. */
function toHugePages(limits: readonly view.HugepageLimit[]): HugePages | undefined {
  const amounts = new HugePageAmounts();
  for (const { pageSize, limit } of limits) amounts.set(nameOfPageSize(pageSize), Number(limit));
  return amounts.all;
}

/** Numbers beyond 2^53 lose their low bits; only "no limit" is that large. */
function isSet<T extends { readonly value: bigint }>(wrapper: T | undefined): wrapper is T {
  return wrapper !== undefined && wrapper.value !== 0n;
}

function phaseOf(state: ContainerState): ContainerPhase {
  switch (state) {
    case ContainerState.CONTAINER_CREATED:
      return 'created';
    case ContainerState.CONTAINER_RUNNING:
    case ContainerState.CONTAINER_PAUSED:
      return 'running';
    case ContainerState.CONTAINER_STOPPED:
      return 'exited';
    default:
      return 'creating';
  }
}

function hasAny(resources: CpuResources): boolean {
  for (const _ in resources) return true;
  return false;
}
