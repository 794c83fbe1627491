import { hasCgroup, type Container } from '../../core/model/container';
import type { NodeView } from '../../core/model/node-view';
import type { QosPod } from '../objects/objects';
import type { Metrics } from '../usage/metrics';
import { METRIC } from '../usage/names';
import type { ContainerState, Throttle } from './situation';

/** The containers of these pods that have a cgroup, with their last use. */
export function listContainers(
  model: Pick<NodeView, 'containersOf'>,
  pods: readonly QosPod[],
  metrics: Metrics,
): readonly ContainerState[] {
  const valuesOf = (name: string): ReadonlyMap<string, number> =>
    new Map((metrics.get(name) ?? []).map(({ labels, value }) => [labels['ContainerId'] ?? '', value]));
  const cpus = valuesOf(METRIC.containerCpuTotalUsage);
  const memory = valuesOf(METRIC.containerMemTotalUsage);
  const quotas = valuesOf(METRIC.containerCpuQuota);
  const periods = valuesOf(METRIC.containerCpuPeriod);
  return pods.flatMap(({ uid, runtimeUid }) =>
    model
      .containersOf(runtimeUid)
      .filter((container) => container.pause === undefined && (hasCgroup(container) || isPinned(container)))
      .map((container): ContainerState => {
        const { id, name } = container;
        const [milliCpu, memoryBytes, quotaUs, periodUs] = [cpus, memory, quotas, periods].map((each) => each.get(id));
        return {
          id,
          name,
          podUid: uid,
          isPinned: isPinned(container),
          ...(milliCpu !== undefined && { milliCpu: milliCpu * 1000 }),
          ...(memoryBytes !== undefined && { memoryBytes }),
          ...(quotaUs !== undefined && { quotaUs }),
          ...(periodUs !== undefined && { periodUs }),
        };
      }),
  );
}

/**
 * The throttles that no rule can decide on any more, while their container runs: the API server does not have its pod,
 * or cpusetd has promised it CPUs since. A quota that cpusetd manages is left to it.
 */
export function listUndecidable(
  throttles: readonly Throttle[],
  pods: readonly QosPod[],
  containers: NodeView['containers'],
): readonly Throttle[] {
  const uids = new Set(pods.map(({ uid }) => uid));
  return throttles.filter(({ id, podUid }) => {
    const container = containers.get(id);
    if (!container || !hasCgroup(container)) return false;
    return isPinned(container) ? container.quota === undefined : !uids.has(podUid);
  });
}

/**
 * True where cpusetd promises CPUs or a quota, or will, and where it touches nothing: no action is taken against these.
 */
function isPinned({ placement, leftAlone, quota, waitingSince, entitledCpus }: Container): boolean {
  const isPlain = placement === 'shared' || placement === 'left-alone';
  return !isPlain || leftAlone === true || quota !== undefined || waitingSince !== undefined || entitledCpus > 0;
}
