import type { ContainerSpec, PodSpec, SpecResources } from '../../core/model/pod-spec';
import { MIRROR } from '../../core/model/pod-kinds';
import { decisiveAnnotations } from '../../core/annotations/decisive';
import { HugePageAmounts, type HugePages } from '../../core/huge-pages';
import { asArray, asObject, asString, type JsonObject } from '../json';
import { parseWhole } from '../quantity';
import { amountIn, readPod, type ContainerObject, type PodObject, type ResourcesObject } from './read-pod';

/** A watched pod: its spec for the core, and its phase. */
export interface WatchedPod {
  readonly spec: PodSpec;
  /** `Pending`, `Running`, `Succeeded`, `Failed` or `Unknown`; schedulers count pods by it. */
  readonly phase: string;
}

/** Reads a v1 Pod; undefined for one without uid or name. */
export function toWatchedPod(object: unknown): WatchedPod | undefined {
  const pod = readPod(object);
  return pod && { phase: pod.phase, spec: toPodSpec(pod) };
}

/** The part of a Pod that decides placements. */
export function toPodSpec(pod: PodObject): PodSpec {
  const { uid, namespace, name, qos, hasFinished: finished } = pod;
  const podResources = readResources(pod.resources);
  const names = [...pod.containers.map((container) => container.name), ...pod.ephemeralNames];
  return {
    uid,
    namespace,
    name,
    qos,
    finished,
    // Whoever deletes a mirror does not end its static pod.
    ...(pod.isBeingDeleted && !Object.hasOwn(pod.annotations, MIRROR) && { isBeingDeleted: true }),
    annotations: decisiveAnnotations(pod.annotations, names),
    containers: readContainers(pod),
    ...(Object.keys(podResources).length > 0 && { podResources }),
  };
}

function readContainers({ containers, spec, status, isBeingDeleted }: PodObject): ContainerSpec[] {
  const podRestarts = asString(spec['restartPolicy']) || 'Always';
  const initStatuses = byName(status['initContainerStatuses']);
  const statuses = byName(status['containerStatuses']);
  const hasEnded = ({ name, kind, object }: ContainerObject): boolean => {
    const restarts = asString(object['restartPolicy']) || (kind === 'init' ? 'OnFailure' : podRestarts);
    const hasRules = asArray(object['restartPolicyRules']).length > 0;
    const found = (kind === 'app' ? statuses : initStatuses).get(name);
    const terminated = asObject(found?.['state'])['terminated'];
    if (terminated === undefined) return false;
    return isBeingDeleted || (!hasRules && isFinal(restarts, asObject(terminated)['exitCode'] === 0));
  };
  return containers.map((container) => {
    const { name, kind, resources } = container;
    const limitHugePages = readHugePages(resources.limits);
    const ended = hasEnded(container);
    return { name, kind, ended, ...readResources(resources), ...(limitHugePages && { limitHugePages }) };
  });
}

/** Statuses by container name: a pod may have thousands, so they are not searched for each container. */
function byName(statuses: unknown): ReadonlyMap<string, JsonObject> {
  return new Map(
    asArray(statuses)
      .map(asObject)
      .map((status) => [asString(status['name']), status]),
  );
}

/** True when an exit is the last, by the restart policy of the container. */
function isFinal(restarts: string, succeeded: boolean): boolean {
  return restarts === 'Never' || (restarts === 'OnFailure' && succeeded);
}

function readResources({ requests, limits }: ResourcesObject): SpecResources {
  const requestMilliCpu = amountIn(requests, 'cpu');
  const limitMilliCpu = amountIn(limits, 'cpu');
  const requestMemoryBytes = amountIn(requests, 'memory');
  const limitMemoryBytes = amountIn(limits, 'memory');
  return {
    ...(requestMilliCpu !== undefined && { requestMilliCpu }),
    ...(limitMilliCpu !== undefined && { limitMilliCpu }),
    ...(requestMemoryBytes !== undefined && { requestMemoryBytes }),
    ...(limitMemoryBytes !== undefined && { limitMemoryBytes }),
  };
}

/** Limits like `hugepages-2Mi: 128Mi`. */
function readHugePages(limits: JsonObject): HugePages | undefined {
  const amounts = new HugePageAmounts();
  for (const [resource, limit] of Object.entries(limits))
    if (/^hugepages-\d{1,6}[KMG]i$/.test(resource)) amounts.set(resource, parseWhole(limit) ?? 0);
  return amounts.all;
}
