import { hasCgroup, samePromise, type Container, type CpuPromise, type PromisedQuota } from '../model/container';
import { isAssigned, KINDS } from '../model/pool-view';
import type { NodeView } from '../model/node-view';
import { podQuotaToRestore } from '../verdict/plan-quotas';

/** One container that has to change its CPUs, as data. */
export interface Move {
  readonly containerId: string;
  readonly cgroupsPath: string;
  /** Its CPUs so far, as far as known. */
  readonly from?: CpuPromise;
  readonly to: CpuPromise;
  /** The quota of its pod as a whole, when it has to be set again too. */
  readonly podQuota?: { readonly podUid: string; readonly quota: PromisedQuota };
  readonly because: string;
}

/**
 * Compares the last applied values of these containers with their promises, and lists the differences: containers that
 * leave CPUs first, containers that only gain some last, so that no CPU ever has two owners on the way. Pure.
 *
 * Containers without a cgroup are not moved; their promise is carried out when they start.
 */
export function planMoves(view: NodeView, containers: readonly Container[]): Move[] {
  const moves: Move[] = [];
  for (const container of containers) {
    const { id: containerId, cgroupsPath, applied: from, promise: to } = container;
    if (!to || !hasCgroup(container) || samePromise(from, to)) continue;
    moves.push({
      containerId,
      cgroupsPath,
      ...(from && { from }),
      to,
      ...planPodQuota(view, container),
      because: reasonOf(view, container),
    });
  }
  return moves.sort((a, b) => Number(onlyGrows(a)) - Number(onlyGrows(b)));
}

/** The quota of the pod is set again with that of its last container without a quota. */
function planPodQuota(view: NodeView, container: Container): Pick<Move, 'podQuota'> {
  const { quota: to, podUid, promise, applied } = container;
  if (to !== 'as-asked' || promise?.quota?.quotaUs === applied?.quota?.quotaUs) return {};
  const quota = podQuotaToRestore(view, container);
  return quota ? { podQuota: { podUid, quota } } : {};
}

function reasonOf(view: NodeView, container: Container): string {
  const assignment = isAssigned(container) ? view.assignmentOf(container) : undefined;
  if (!assignment) return 'the shared pool changed';
  return KINDS[assignment.kind].claim === 'numa-nodes'
    ? 'what is shared on its NUMA nodes changed'
    : assignment.because;
}

function onlyGrows({ from, to }: Move): boolean {
  return from !== undefined && from.cpus.isSubsetOf(to.cpus);
}
