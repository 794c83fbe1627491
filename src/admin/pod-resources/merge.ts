import type {
  AllocatableResourcesResponse,
  ContainerMemory,
  PodResources,
} from '../../../gen/podresources/v1/podresources';

/**
 * The kubelet's pods with our CPUs. Devices, claims and huge pages come from the kubelet, CPUs from us, and also memory
 * when we place it. Pods and containers of only one side are kept: the kubelet has pods that have not started, we have
 * containers that exited and still hold CPUs.
 */
export function mergePods(kubelet: readonly PodResources[], ours: readonly PodResources[]): PodResources[] {
  return mergeByName(kubelet, ours, nameOf, (theirs, own) => ({
    ...theirs,
    cpuIds: own.cpuIds,
    memory: mergeMemory(theirs.memory, own.memory),
    containers: mergeByName(
      theirs.containers,
      own.containers,
      ({ name }) => name,
      (before, { cpuIds, memory }) => ({
        ...before,
        cpuIds,
        memory: mergeMemory(before.memory, memory),
      }),
    ),
  }));
}

/** The kubelet's devices and our CPUs. */
export function mergeAllocatable(
  kubelet: AllocatableResourcesResponse,
  ours: AllocatableResourcesResponse,
): AllocatableResourcesResponse {
  return { ...kubelet, cpuIds: ours.cpuIds, memory: mergeMemory(kubelet.memory, ours.memory) };
}

function mergeMemory(kubelet: ContainerMemory[], ours: ContainerMemory[]): ContainerMemory[] {
  const types = new Set(ours.map(({ memoryType }) => memoryType));
  return [...ours, ...kubelet.filter(({ memoryType }) => !types.has(memoryType))];
}

/** The items of the first list, each joined with that of the same name in the second, then the rest of the second. */
function mergeByName<T>(
  first: readonly T[],
  second: readonly T[],
  keyOf: (item: T) => string,
  join: (first: T, second: T) => T,
): T[] {
  const rest = new Map(second.map((item) => [keyOf(item), item]));
  const joined = first.map((item) => {
    const other = rest.get(keyOf(item));
    rest.delete(keyOf(item));
    return other === undefined ? item : join(item, other);
  });
  return [...joined, ...rest.values()];
}

function nameOf({ namespace, name }: PodResources): string {
  return `${namespace}/${name}`;
}
