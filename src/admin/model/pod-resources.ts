import type { CpuSet } from '../../core/cpuset';

/** What is exclusive on the node, and what could be. */
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
  /** What its containers share, and none of them names. */
  readonly shared: Resources;
  readonly containers: readonly (Resources & { readonly container: string })[];
}

/** Memory that may lie on these nodes, as far as memory nodes follow CPUs. */
export interface MemoryBlock {
  readonly bytes: number;
  readonly nodes: CpuSet;
}
