import { CpuSet } from '../../core/cpuset';
import type { Topology } from '../../core/topology';
import { VERDICT_KINDS, type VerdictKind } from '../../core/verdict/judge';
import type { ContainerStatus, Status } from '../model/status';
import { boundLabel, formatHead, formatLabels, MAX_CONTAINERS } from './exposition';

/** Something is promised to every pinned container. */
const VERDICTS = VERDICT_KINDS.filter((kind) => kind !== 'left-alone');

interface PinnedContainer {
  /** They name one container: no two pinned ones have the same. */
  readonly name: { readonly namespace: string; readonly pod: string; readonly container: string };
  readonly kind: string;
  readonly cpus: CpuSet;
  readonly numaNodes: CpuSet;
  readonly verdict: VerdictKind;
}

export interface PinnedContainers {
  readonly listed: readonly PinnedContainer[];
  /** Number of pinned containers beyond `MAX_CONTAINERS`. */
  readonly omitted: number;
}

/**
 * The containers that have CPUs or NUMA nodes assigned. Those that have theirs for longest come first, so that new ones
 * of a tenant push no other out. Of two with one name the younger counts: the other is about to end.
 */
export function listPinned({ containers }: Pick<Status, 'containers'>, topology: Topology): PinnedContainers {
  const byName = new Map<string, ContainerStatus>();
  for (const container of containers) {
    if (container.kind === undefined || container.promise === undefined) continue;
    const key = JSON.stringify(nameOf(container));
    const other = byName.get(key);
    if (!other || other.since <= container.since) byName.set(key, container);
  }
  const oldestFirst = [...byName.values()].sort((a, b) => compare(a.since, b.since) || compare(a.id, b.id));
  const listed = oldestFirst.slice(0, MAX_CONTAINERS).map((container): PinnedContainer => ({
    name: nameOf(container),
    kind: container.kind!,
    cpus: container.promise!.cpus,
    numaNodes: CpuSet.of(
      topology.numaNodes.filter(({ cpus }) => cpus.overlaps(container.promise!.cpus)).map(({ id }) => id),
    ),
    verdict: container.verdict.kind,
  }));
  return { listed, omitted: byName.size - listed.length };
}

/**
 * The series of pinned containers in Prometheus' text format: an info series, the number of CPUs, and a series of 0 or
 * 1 for each verdict.
 */
export function formatContainerSeries({ listed, omitted }: PinnedContainers): string {
  const named = listed.map((container) => ({ ...container, labels: formatLabels(container.name) }));
  return [
    ...formatHead('container_info', 'Always 1; says which CPUs a pinned container has.'),
    ...named.map(({ labels, kind, cpus, numaNodes }) => {
      const info = { kind, cpus: boundLabel(cpus.toString()), numa_nodes: boundLabel(numaNodes.toString()) };
      return `cpusetd_container_info{${labels},${formatLabels(info)}} 1`;
    }),
    ...formatHead('container_cpus', 'CPUs that are assigned to a pinned container.'),
    ...named.map(({ labels, cpus }) => `cpusetd_container_cpus{${labels}} ${cpus.size}`),
    ...formatHead('container_verdict', '1 for the present verdict on a pinned container.'),
    ...named.flatMap(({ labels, verdict }) =>
      VERDICTS.map((each) => `cpusetd_container_verdict{${labels},verdict="${each}"} ${each === verdict ? 1 : 0}`),
    ),
    ...formatHead(
      'containers_without_series',
      'Pinned containers that have no series of their own: they are too many.',
    ),
    `cpusetd_containers_without_series ${omitted}`,
    '',
  ].join('\n');
}

function nameOf({ namespace, pod, container }: ContainerStatus): PinnedContainer['name'] {
  return { namespace: boundLabel(namespace), pod: boundLabel(pod), container: boundLabel(container) };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
