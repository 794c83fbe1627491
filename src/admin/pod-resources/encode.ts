import * as pb from '../../../gen/podresources/v1/podresources';
import { CpuSet } from '../../core/cpuset';
import type { MemoryBlock, ExclusiveResources, PodResources } from '../model/pod-resources';

/** Exclusive resources as messages of the API; the kubelet adds devices and claims. */
export function encodePods({ pods }: ExclusiveResources): pb.PodResources[] {
  return pods.map(encodePod);
}

function encodePod({ namespace, pod, shared, containers }: PodResources): pb.PodResources {
  return pb.PodResources.create({
    name: pod,
    namespace,
    cpuIds: encodeCpus(cpusOfPod({ shared, containers })),
    memory: shared.memory.map(encodeMemory),
    containers: containers.map(({ container, cpus, memory }) =>
      pb.ContainerResources.create({ name: container, cpuIds: encodeCpus(cpus), memory: memory.map(encodeMemory) }),
    ),
  });
}

/** All exclusive CPUs in the pod, as the kubelet counts them, if containers share CPUs of their pod; else none. */
function cpusOfPod({ shared, containers }: Pick<PodResources, 'shared' | 'containers'>): CpuSet {
  if (shared.cpus.isEmpty) return shared.cpus;
  return CpuSet.unionOf([shared.cpus, ...containers.map(({ cpus }) => cpus)]);
}

/** All allocatable resources, including those in use. */
export function encodeAllocatable({ allocatable }: ExclusiveResources): pb.AllocatableResourcesResponse {
  return pb.AllocatableResourcesResponse.create({
    cpuIds: encodeCpus(allocatable.cpus),
    memory: allocatable.memory.map(encodeMemory),
  });
}

function encodeCpus(cpus: CpuSet): bigint[] {
  return cpus.toArray().map(BigInt);
}

function encodeMemory({ bytes, nodes }: MemoryBlock): pb.ContainerMemory {
  return pb.ContainerMemory.create({
    memoryType: 'memory',
    size: BigInt(bytes),
    topology: { nodes: nodes.toArray().map((id) => pb.NUMANode.create({ ID: BigInt(id) })) },
  });
}
