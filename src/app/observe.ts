import { CpuSet } from '../core/cpuset';
import type { ContainerInfo } from '../core/model/events';
import type { LiveCpusets } from '../core/transition';
import type { Observation } from '../core/verdict/observation';
import { cgroupPathOf, type Cgroups } from '../host';

/** Reads back what the kernel has for one container. */
export function observe(cgroups: Cgroups, cgroupsPath: string): Observation {
  const at = cgroupPathOf(cgroupsPath);
  if (at.kind === 'refused') return { kind: 'unreadable', because: at.because };
  const reading = cgroups.readCpuset(at.path);
  switch (reading.kind) {
    case 'found':
      return { kind: 'seen', cpus: reading.cpus, effective: reading.effectiveCpus, mems: reading.mems };
    case 'missing':
      return { kind: 'gone' };
    default:
      return { kind: 'unreadable', because: reading.because };
  }
}

/** The live cpusets of the running ones among the containers; who can't be read is left out. */
export function readLiveCpusets(cgroups: Cgroups, containers: readonly ContainerInfo[]): LiveCpusets {
  const live = new Map<string, CpuSet>();
  for (const { id, phase, cgroupsPath } of containers) {
    if (phase !== 'running') continue;
    const observation = observe(cgroups, cgroupsPath);
    if (observation.kind === 'seen') live.set(id, observation.cpus);
  }
  return live;
}
