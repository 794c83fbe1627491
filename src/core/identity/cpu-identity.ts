import { CpuSet } from '../cpuset';
import { hasCgroup, type Container } from '../model/container';
import type { CpuIdentity } from '../model/cpu-identity';
import type { NodeView } from '../model/node-view';
import { cpusOf, isAssigned } from '../model/pool-view';

/** Returns what a container may know, by its promise. */
export function identityOf(view: NodeView, container: Container): CpuIdentity {
  const { promise, promisedAt: since } = container;
  if (!promise) return { kind: 'unmanaged' };
  const { cpus, mems } = promise;
  const numaNodes = view.topology.numaNodes.filter((node) => node.cpus.overlaps(cpus));
  return {
    ...kindOf(view, container),
    cpus,
    numaNodes: CpuSet.of(numaNodes.map(({ id }) => id)),
    ...(!mems.isEmpty && { memoryNodes: mems }),
    ...(since !== undefined && { since }),
  };
}

/** A container whose own CPUs are all offline runs in the shared pool. */
function kindOf(view: NodeView, container: Container): Pick<CpuIdentity, 'kind' | 'scope'> {
  const assignment = isAssigned(container) ? view.assignmentOf(container) : undefined;
  if (!assignment || cpusOf(view, assignment).isEmpty) return { kind: 'shared' };
  return { kind: assignment.kind, ...(assignment.scope && { scope: assignment.scope }) };
}

/**
 * True when the kernel has the promise, as far as is known, or no process runs yet. The file names CPUs that the
 * container can use: with more, it would ask the kernel for an affinity that is refused.
 */
export function isInForce({ phase, promise, applied }: Container): boolean {
  if (!promise || !hasCgroup({ phase })) return true;
  return applied !== undefined && applied.cpus.equals(promise.cpus) && applied.mems.equals(promise.mems);
}

/** True when both say the same, whenever it became so. */
export function saysTheSame(a: CpuIdentity, b: CpuIdentity): boolean {
  return (
    a.kind === b.kind &&
    a.scope === b.scope &&
    sameSet(a.cpus, b.cpus) &&
    sameSet(a.numaNodes, b.numaNodes) &&
    sameSet(a.memoryNodes, b.memoryNodes)
  );
}

function sameSet(a: CpuSet | undefined, b: CpuSet | undefined): boolean {
  return a === undefined || b === undefined ? a === b : a.equals(b);
}
