import type { CpuResources } from './events';

/** The CPUs that the kubelet sends with the sandbox of a pod: the sums of its containers, or its own. */
export type PodSums = Pick<CpuResources, 'shares' | 'quotaUs' | 'periodUs'>;

/** Resources of a pod as its containers have shown them, where no spec has them. */
export interface PodLevel extends PodSums {
  readonly podUid: string;
  /**
   * `whole`: it has resources as a whole. The sums are kept since the lists of a runtime may lack them. `resized`: a
   * container was resized, so the sums of its sandbox may be old, and show nothing any more.
   */
  readonly shown: 'whole' | 'resized';
}
