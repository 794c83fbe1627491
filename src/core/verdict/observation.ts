import type { CpuSet } from '../cpuset';

/** What the kernel really has for a container, read back from its cgroup. */
export type Observation =
  | {
      readonly kind: 'seen';
      /** `cpuset.cpus`: what was written there last. Empty on v2 where nothing was. */
      readonly cpus: CpuSet;
      /** Where its processes may run now: `cpuset.cpus.effective`, `cpuset.effective_cpus`. */
      readonly effective: CpuSet;
      readonly mems: CpuSet;
    }
  /** No such cgroup: the container is on its way in or out. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'unreadable'; readonly because: string };
