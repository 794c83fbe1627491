import type { CpuSet } from '../../core/cpuset';

/** Exclusive resources of the node, and all that can be exclusive. */
export interface ExclusiveResources {
  readonly pods: readonly PodResources[];
  readonly allocatable: Resources;
}

export interface Resources {
  readonly cpus: CpuSet;
  readonly memory: readonly MemoryBlock[];
}

export interface PodResources {
  readonly namespace: string;
  readonly pod: string;
  /** Resources that its containers share and none of them lists. */
  readonly shared: Resources;
  readonly containers: readonly (Resources & { readonly container: string })[];
}

/** Memory on these nodes, when memory nodes follow CPUs. */
export interface MemoryBlock {
  readonly bytes: number;
  readonly nodes: CpuSet;
}
