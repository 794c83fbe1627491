import { sumPodCpus } from '../../core/inference/pod-cpus';
import { asArray, asObject, asString, type JsonObject } from '../json';
import { parseMilli } from '../quantity';

/**
 * The CPU that kube-scheduler counts for a pod, in thousandths (`PodRequests` of k8s.io/component-helpers/resource, with UseStatusResources): during
 * a resize the larger of what is asked for, allocated and in effect; of one that was refused not what is asked for. The overhead of its RuntimeClass
 * is added.
 */
export function readSchedulerMilliCpu(pod: unknown): number {
  const { spec, status } = asObject(pod);
  const { initContainers, containers, resources, overhead } = asObject(spec);
  const statuses = new Map(
    ['initContainerStatuses', 'containerStatuses']
      .flatMap((list) => asArray(asObject(status)[list]).map(asObject))
      .map((of) => [asString(of['name']), of]),
  );
  const isRefused = asArray(asObject(status)['conditions'])
    .map(asObject)
    .some(({ type, reason }) => type === 'PodResizePending' && reason === 'Infeasible');
  const inEffect = (container: JsonObject): number => {
    const asked = cpuOf(asObject(container['resources'])['requests']);
    const found = statuses.get(asString(container['name']));
    if (found?.['resources'] === undefined) return asked;
    const granted = Math.max(cpuOf(asObject(found['resources'])['requests']), cpuOf(found['allocatedResources']));
    return isRefused ? granted : Math.max(asked, granted);
  };
  const sum = sumPodCpus([
    ...asArray(initContainers)
      .map(asObject)
      .map((container) =>
        container['restartPolicy'] === 'Always'
          ? { kind: 'sidecar' as const, cpus: inEffect(container) }
          : { kind: 'init' as const, cpus: cpuOf(asObject(container['resources'])['requests']) },
      ),
    ...asArray(containers)
      .map(asObject)
      .map((container) => ({ kind: 'app' as const, cpus: inEffect(container) })),
  ]);
  return Math.max(sum, cpuOf(asObject(resources)['requests'])) + cpuOf(overhead);
}

function cpuOf(list: unknown): number {
  return parseMilli(asObject(list)['cpu']) ?? 0;
}
