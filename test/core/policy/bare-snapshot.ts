import { CpuSet } from '../../../src/core/cpuset';
import { NO_OPTIONS, type Settings } from '../../../src/core/model/settings';
import type { Snapshot } from '../../../src/core/policy';
import type { Topology } from '../../../src/core/topology';

/** A snapshot of a machine without containers, except for the fields that are given. */
export function bareSnapshot(
  topology: Topology,
  { settings, ...given }: Partial<Omit<Snapshot, 'settings' | 'topology'>> & { readonly settings?: Partial<Settings> },
): Snapshot {
  const free = given.free ?? CpuSet.empty;
  return {
    topology,
    settings: {
      cpuManagerPolicy: 'static',
      options: NO_OPTIONS,
      reserved: CpuSet.empty,
      minSharedCpus: 1,
      onInsufficientCpu: 'refuse',
      liftCpuQuota: false,
      ...settings,
    },
    own: CpuSet.empty,
    idleInPod: CpuSet.empty,
    ownedByPod: CpuSet.empty,
    podSet: { cpus: CpuSet.empty, inUse: false },
    free,
    sharedPool: free.union(settings?.reserved ?? CpuSet.empty),
    followers: { sets: [], demand: new Map(), ownNodes: CpuSet.empty, nodesOfPod: CpuSet.empty },
    promisedMemory: new Map(),
    ...given,
  };
}
