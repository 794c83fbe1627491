import type { AssignmentStatus } from './status';
import type { ExclusiveOwner } from '../../core/audit/sample';
import type { CpuSet } from '../../core/cpuset';
import { KINDS } from '../../core/model/pool-view';

/** The CPUs that are online, and who was given which. */
export interface Assigned {
  readonly topology: { readonly online: CpuSet };
  readonly assignments: readonly Pick<
    AssignmentStatus,
    'podUid' | 'namespace' | 'pod' | 'container' | 'containerId' | 'kind' | 'cpus' | 'scope'
  >[];
}

/**
 * Lists the running containers that have CPUs for themselves; containers of a pod that share their CPUs are one owner.
 */
export function listOwners({ topology, assignments }: Assigned): readonly ExclusiveOwner[] {
  const owners = new Map<string, ExclusiveOwner>();
  for (const { podUid, namespace, pod, container, containerId, kind, cpus, scope } of assignments) {
    const online = cpus.intersect(topology.online);
    if (KINDS[kind].claim !== 'exclusive' || containerId === '' || online.isEmpty) continue;
    const key = scope === 'pod' ? `${podUid} ${online.toString()}` : `${podUid}/${container}`;
    const before = owners.get(key);
    owners.set(key, {
      pod: `${namespace}/${pod}`,
      containers: [...(before?.containers ?? []), container],
      containerIds: [...(before?.containerIds ?? []), containerId],
      cpus: online,
    });
  }
  return [...owners.values()].sort((a, b) => a.cpus.first! - b.cpus.first!);
}

/**
 * The owners of an earlier list that still have the same CPUs and containers: who came in between was not there all the
 * time.
 */
export function keepSteady(
  earlier: readonly ExclusiveOwner[],
  now: readonly ExclusiveOwner[],
): readonly ExclusiveOwner[] {
  const keyOf = ({ containerIds, cpus }: ExclusiveOwner): string => `${containerIds.join()} ${cpus.toString()}`;
  const known = new Set(now.map(keyOf));
  return earlier.filter((owner) => known.has(keyOf(owner)));
}
