import type { Move } from '../core/plan/plan-moves';
import { cgroupPathOf, type Cgroups } from '../host';
import { widenPodCgroup } from './pod-cgroup';
import type { MoveFailure, Mover } from './transactor';

/** Moves containers by writing their cpuset files: 24 µs each, where the runtime takes 9 ms. */
export function createCgroupMover(cgroups: Cgroups, { writes }: { readonly writes: boolean }): Mover {
  return {
    move({ cgroupsPath, to }: Move): MoveFailure | undefined {
      if (!writes) return { kind: 'off', because: 'cgroup-writes is off' };
      const at = cgroupPathOf(cgroupsPath);
      if (at.kind === 'refused') return { kind: 'refused', because: at.because };
      const outcome = cgroups.writeCpuset(at.path, { cpus: to.cpus, ...(!to.mems.isEmpty && { mems: to.mems }) });
      switch (outcome.kind) {
        case 'ok':
          return undefined;
        case 'gone':
          return { kind: 'gone', because: 'its cgroup is gone' };
        case 'refused':
          return { kind: 'refused', because: outcome.because };
      }
    },
    ...(writes && cgroups.version === 1 && { makeRoom: (pod, cpus) => widenPodCgroup(cgroups, pod, cpus) }),
  };
}
