import type { TopologyStatus } from '../../admin/model/status';
import type { ExclusiveOwner } from '../../core/audit/sample';
import { KINDS } from '../../core/model/pool-view';

/** Who has CPUs for itself and runs; containers of a pod that share their CPUs are one owner. */
export function listOwners({ topology, assignments }: TopologyStatus): readonly ExclusiveOwner[] {
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
