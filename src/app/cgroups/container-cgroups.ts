import type { Move } from '../../core/plan/plan-moves';
import { cgroupPathOf, type Cgroups } from '../../host';
import { podCgroupOf } from './pod-cgroup';
import type { MoveFailure, Mover } from '../transaction/transactor';

/** Moves containers by writing their cpuset files: tens of microseconds each, where the runtime takes about 9 ms. */
export function createCgroupMover(cgroups: Cgroups, { writes }: { readonly writes: boolean }): Mover {
  return {
    move({ cgroupsPath, to, podQuota }: Move): MoveFailure | undefined {
      if (!writes) return { kind: 'off', because: 'cgroup-writes is off' };
      const at = cgroupPathOf(cgroupsPath);
      if (at.kind === 'refused') return { kind: 'refused', because: at.because };
      const outcome = cgroups.writeCpuset(at.path, { cpus: to.cpus, ...(!to.mems.isEmpty && { mems: to.mems }) });
      switch (outcome.kind) {
        case 'ok':
          return writeQuotas(at.path, to, podQuota);
        case 'gone':
          return { kind: 'gone', because: 'its cgroup is gone' };
        case 'refused':
          return { kind: 'refused', because: outcome.because };
      }
    },
  };

  /** A pod's quota that the kernel refuses fails the move: the pod's containers would run without any. */
  function writeQuotas(path: string, { quota }: Move['to'], podQuota: Move['podQuota']): MoveFailure | undefined {
    const podDir = podQuota && podCgroupOf(path, podQuota.podUid);
    const outcomes = [
      quota && cgroups.writeQuota(path, quota),
      podDir === undefined ? undefined : cgroups.writeQuota(podDir, podQuota!.quota),
    ];
    const refused = outcomes.find((outcome) => outcome?.kind === 'refused');
    return refused && { kind: 'refused', because: refused.because };
  }
}
