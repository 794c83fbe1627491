import type { ContainerSpec, PodSpec, SpecResources } from '../../core/model/pod-spec';
import { decisiveAnnotations } from '../../core/annotations/decisive';
import { classifyQos, type QosClass } from '../../core/inference/qos';
import { HugePageAmounts, type HugePages } from '../../core/huge-pages';
import { asArray, asObject, asString, type JsonObject } from '../json';
import { parseMilli, parseWhole } from '../quantity';

/** A watched pod: its spec for the core, and its phase. */
export interface WatchedPod {
  readonly spec: PodSpec;
  /** `Pending`, `Running`, `Succeeded`, `Failed` or `Unknown`; schedulers count pods by it. */
  readonly phase: string;
}

/** Reads a v1 Pod; undefined for one without uid or name. */
export function toWatchedPod(pod: unknown): WatchedPod | undefined {
  const { metadata, spec, status } = asObject(pod);
  const meta = asObject(metadata);
  const uid = asString(meta['uid']);
  const name = asString(meta['name']);
  if (uid === '' || name === '') return undefined;
  const phase = asString(asObject(status)['phase']);
  const podResources = readResources(asObject(spec)['resources']);
  const containers = readContainers(asObject(spec), asObject(status), meta['deletionTimestamp'] !== undefined);
  return {
    phase,
    spec: {
      uid,
      namespace: asString(meta['namespace']),
      name,
      annotations: decisiveAnnotations(asObject(meta['annotations']), [
        ...containers.map((container) => container.name),
        ...asArray(asObject(spec)['ephemeralContainers']).map((one) => asString(asObject(one)['name'])),
      ]),
      qos: readQos(asObject(status)['qosClass']) ?? classify(containers, podResources),
      finished: phase === 'Succeeded' || phase === 'Failed',
      containers,
      ...(Object.keys(podResources).length > 0 && { podResources }),
    },
  };
}

function readQos(text: unknown): QosClass | undefined {
  return text === 'Guaranteed' || text === 'Burstable' || text === 'BestEffort' ? text : undefined;
}

function classify(containers: readonly ContainerSpec[], podResources: SpecResources): QosClass {
  const amounts = (of: SpecResources) => ({
    requests: { cpu: of.requestMilliCpu ?? 0, memory: of.requestMemoryBytes ?? 0 },
    limits: { cpu: of.limitMilliCpu ?? 0, memory: of.limitMemoryBytes ?? 0 },
  });
  const isPodLevel = Object.keys(podResources).length > 0;
  return classifyQos(containers.map(amounts), isPodLevel ? amounts(podResources) : undefined);
}

function readContainers(spec: JsonObject, status: JsonObject, isBeingDeleted: boolean): ContainerSpec[] {
  const podRestarts = asString(spec['restartPolicy']) || 'Always';
  const initStatuses = byName(status['initContainerStatuses']);
  const statuses = byName(status['containerStatuses']);
  const read = (container: JsonObject, kind: ContainerSpec['kind']): ContainerSpec => {
    const name = asString(container['name']);
    const restarts = asString(container['restartPolicy']) || (kind === 'init' ? 'OnFailure' : podRestarts);
    const hasRules = asArray(container['restartPolicyRules']).length > 0;
    const found = (kind === 'app' ? statuses : initStatuses).get(name);
    const terminated = asObject(found?.['state'])['terminated'];
    const ended =
      terminated !== undefined &&
      (isBeingDeleted || (!hasRules && isFinal(restarts, asObject(terminated)['exitCode'] === 0)));
    const limitHugePages = readHugePages(asObject(asObject(container['resources'])['limits']));
    return { name, kind, ended, ...readResources(container['resources']), ...(limitHugePages && { limitHugePages }) };
  };
  return [
    ...asArray(spec['initContainers'])
      .map(asObject)
      .map((one) => read(one, one['restartPolicy'] === 'Always' ? 'sidecar' : 'init')),
    ...asArray(spec['containers'])
      .map(asObject)
      .map((one) => read(one, 'app')),
  ];
}

/** Statuses by container name: a pod may have thousands, so they are not searched for each container. */
function byName(statuses: unknown): ReadonlyMap<string, JsonObject> {
  return new Map(
    asArray(statuses)
      .map(asObject)
      .map((one) => [asString(one['name']), one]),
  );
}

/** True when an exit is the last, by the restart policy of the container. */
function isFinal(restarts: string, succeeded: boolean): boolean {
  return restarts === 'Never' || (restarts === 'OnFailure' && succeeded);
}

function readResources(resources: unknown): SpecResources {
  const { requests, limits } = asObject(resources);
  const requestMilliCpu = parseMilli(asObject(requests)['cpu']);
  const limitMilliCpu = parseMilli(asObject(limits)['cpu']);
  const requestMemoryBytes = parseWhole(asObject(requests)['memory']);
  const limitMemoryBytes = parseWhole(asObject(limits)['memory']);
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
