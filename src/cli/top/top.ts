import type { ContainerStatus, Status } from '../../admin/model/status';
import type { ExclusiveOwner } from '../../core/audit/sample';
import type { ForeignShare } from '../../core/audit/tally-audit';
import type { CpuSet } from '../../core/cpuset';
import type { Placement } from '../../core/model/container';
import type { VerdictKind } from '../../core/verdict/judge';
import { listOwners } from '../../admin/model/exclusive-owners';

/** The containers that have CPUs of their own, and what they did with them between two readings. */
export interface Top {
  /** The name of the Node; absent where the daemon has none. */
  readonly nodeName?: string;
  /** Time of the later reading, RFC 3339. */
  readonly at: string;
  /** Time between the readings; absent before the second one, as all figures then are. */
  readonly seconds?: number;
  /** Time that this process worked on the later reading, in ms. */
  readonly busyMs: number;
  readonly containers: readonly TopContainer[];
}

export interface TopContainer extends OwnedContainer, TopFigures {}

/** A container with CPUs of its own, as the daemon reports it. */
export interface OwnedContainer {
  readonly namespace: string;
  readonly pod: string;
  readonly podUid: string;
  readonly container: string;
  readonly containerId: string;
  readonly placement: Placement;
  readonly cpus: CpuSet;
  readonly verdict: { readonly kind: VerdictKind; readonly reason: string };
}

/** The figures of a container. Each is absent where it is not known. */
export interface TopFigures {
  /** Thousandths of a CPU. */
  readonly usedMilliCpu?: number;
  /** The same as a part of its CPUs. */
  readonly usedPercent?: number;
  /** Time in each second in which its threads were ready and had no CPU, in ms, all threads together. */
  readonly waitMsPerSecond?: number;
  /** Part of the time in which its CFS quota kept it from running; absent without a quota. */
  readonly throttledPercent?: number;
  /** Others on its CPUs; absent for CPUs that the shared pool has too. */
  readonly foreign?: ForeignShare;
}

/** Lists the containers that have exclusive or immovable CPUs now. */
export function listOwned({ containers }: Pick<Status, 'containers'>): readonly OwnedContainer[] {
  return containers.flatMap((each) => {
    const cpus = cpusOf(each);
    if (cpus === undefined) return [];
    const { id, namespace, pod, podUid, container, placement, verdict } = each;
    const { kind, reason } = verdict;
    return [{ namespace, pod, podUid, container, containerId: id, placement, cpus, verdict: { kind, reason } }];
  });
}

/** Lists those whose CPUs are exclusive: containers of a pod that share their CPUs are one owner. */
export function listExclusive({ node, containers }: Status): readonly ExclusiveOwner[] {
  const assignments = containers.flatMap((each) => {
    const { id, podUid, namespace, pod, container, kind, scope } = each;
    const cpus = cpusOf(each);
    if (kind === undefined || cpus === undefined) return [];
    return [{ podUid, namespace, pod, container, containerId: id, kind, cpus, ...(scope && { scope }) }];
  });
  return listOwners({ topology: { online: node.online }, assignments });
}

function cpusOf({ placement, promise, pause }: ContainerStatus): CpuSet | undefined {
  const isOwn = (placement === 'exclusive' || placement === 'immovable') && !pause;
  return isOwn && promise?.cpus.isEmpty === false ? promise.cpus : undefined;
}
