import { sumPodCpus } from '../../core/model/pod-cpus';
import { asArray, asObject, asString, type JsonObject } from '../json';
import { amountIn, type ContainerObject, type PodObject } from './read-pod';

/**
 * The CPU that kube-scheduler counts for a pod, in thousandths (`PodRequests` of k8s.io/component-helpers/resource,
 * with UseStatusResources): during a resize the larger of what is asked for, allocated and in effect; of one that was
 * refused not what is asked for. The overhead of its RuntimeClass is added. Resources of the pod as a whole count in
 * place of its containers'.
 */
export function schedulerMilliCpuOf({ containers, resources, spec, status, conditions }: PodObject): number {
  const statuses = new Map(
    ['initContainerStatuses', 'containerStatuses']
      .flatMap((list) => asArray(status[list]).map(asObject))
      .map((entry) => [asString(entry['name']), entry]),
  );
  const isRefused = conditions.some(({ type, reason }) => type === 'PodResizePending' && reason === 'Infeasible');
  const inEffect = (asked: number, found: JsonObject | undefined): number => {
    if (found?.['resources'] === undefined) return asked;
    const granted = Math.max(cpuIn(asObject(found['resources'])['requests']), cpuIn(found['allocatedResources']));
    return isRefused ? granted : Math.max(asked, granted);
  };
  const ofContainer = ({ name, kind, resources: { requests } }: ContainerObject): number =>
    inEffect(cpuIn(requests), kind === 'init' ? undefined : statuses.get(name));
  const ofPod = amountIn(resources.requests, 'cpu');
  const sum = sumPodCpus(containers.map((container) => ({ kind: container.kind, cpus: ofContainer(container) })));
  return (ofPod === undefined ? sum : inEffect(ofPod, status)) + cpuIn(spec['overhead']);
}

function cpuIn(list: unknown): number {
  return amountIn(asObject(list), 'cpu') ?? 0;
}
