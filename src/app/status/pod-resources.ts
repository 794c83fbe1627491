import type { MemoryBlock, ExclusiveResources, PodResources, Resources } from '../../admin/model/pod-resources';
import { CpuSet } from '../../core/cpuset';
import type { Assignment } from '../../core/model/assignment';
import type { Container } from '../../core/model/container';
import { KINDS } from '../../core/model/pool-view';
import type { NodeView } from '../../core/model/node-view';

const NOTHING: Resources = { cpus: CpuSet.empty, memory: [] };

/**
 * Lists CPUs and memory that belong to one container or pod alone. Containers without CPUs of their own are listed with
 * none. A container that has exited is listed as long as its pod keeps its CPUs: clients that count the free CPUs must
 * not count these.
 */
export function listPodResources(view: NodeView): ExclusiveResources {
  const byPod = new Map<string, { namespace: string; pod: string; own: Map<string, Resources>; shared: CpuSet }>();
  const podOf = (uid: string, namespace: string, pod: string) => {
    const entry = byPod.get(uid) ?? { namespace, pod, own: new Map<string, Resources>(), shared: CpuSet.empty };
    byPod.set(uid, entry);
    return entry;
  };
  for (const container of view.containers.values()) {
    const pod = view.pods.get(container.sandboxId);
    if (!pod) continue;
    const assignment = view.assignmentFor(container.podUid, container.name);
    const holds = assignment?.containerId === container.id ? ownCpus(assignment) : CpuSet.empty;
    const { own } = podOf(pod.uid, pod.namespace, pod.name);
    own.set(container.name, { cpus: holds, memory: memoryOf(container) });
  }
  for (const assignment of view.assignments.values()) {
    if (KINDS[assignment.kind].claim !== 'exclusive') continue;
    const entry = podOf(assignment.podUid, assignment.podNamespace, assignment.podName);
    if (assignment.scope === 'pod') entry.shared = entry.shared.union(assignment.cpus);
    else if (assignment.containerId === null)
      entry.own.set(assignment.containerName, { ...NOTHING, cpus: assignment.cpus });
  }
  return {
    pods: [...byPod.values()].map(({ namespace, pod, own, shared }): PodResources => ({
      namespace,
      pod,
      shared: { ...NOTHING, cpus: shared },
      containers: [...own].map(([container, resources]) => ({ container, ...resources })),
    })),
    allocatable: { cpus: view.topology.online.minus(view.settings.reserved), memory: allocatableMemory(view) },
  };
}

/** CPUs that the container does not share. CPUs that it shares with its pod are listed with the pod. */
function ownCpus({ kind, scope, cpus }: Assignment): CpuSet {
  return KINDS[kind].claim === 'exclusive' && scope !== 'pod' ? cpus : CpuSet.empty;
}

/** One block over all its memory nodes, as large as its limit; none where memory is left alone or not limited. */
function memoryOf({ promise, resources }: Container): MemoryBlock[] {
  const bytes = resources.memoryLimitBytes ?? 0;
  return promise && !promise.mems.isEmpty && bytes > 0 ? [{ bytes, nodes: promise.mems }] : [];
}

function allocatableMemory({ topology, settings }: NodeView): MemoryBlock[] {
  if (settings.memoryNodes !== 'follow') return [];
  return topology.memoryNodes
    .filter(({ memoryBytes, isOfGpu }) => memoryBytes > 0 && !isOfGpu)
    .map(({ id, memoryBytes }) => ({ bytes: memoryBytes, nodes: CpuSet.of([id]) }));
}
