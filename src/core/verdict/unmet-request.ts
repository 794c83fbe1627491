import type { Container } from '../model/container';
import { isAssigned } from '../model/pool-view';
import type { NodeView } from '../model/node-view';
import { isNear } from '../topology';

/**
 * The reason why a container does not have what its request brought, for the operator: CPUs of which none is left to
 * it, or memory nodes that its CPUs are not near to. Undefined when it has, or brought nothing.
 */
export function describeUnmet(view: NodeView, container: Container): string | undefined {
  const { promise, podUid, name } = container;
  const brought = view.broughtTo(podUid, name);
  if (!brought || !promise) return undefined;
  const assignment = isAssigned(container) ? view.assignmentOf(container) : undefined;
  const { cpus, mems } = brought;
  if (cpus && !promise.cpus.isSubsetOf(cpus))
    return `its request brought CPUs ${cpus.toString()}, and all of them are offline or others own them: it runs on ${promise.cpus.toString()}`;
  return assignment && mems && !isNear(view.topology, promise.cpus, mems)
    ? `its memory is on nodes ${mems.toString()}, which its request brought, and not all of its CPUs ${promise.cpus.toString()} are near: none were free there`
    : undefined;
}
