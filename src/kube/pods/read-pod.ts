import { classifyQos } from '../../core/inference/qos';
import type { ContainerKind, QosClass } from '../../core/model/pod-kinds';
import { asArray, asObject, asString, type JsonObject } from '../json';
import { readAmount } from '../objects/resource-list';

/** The field selector of pods that have not ended. */
export const UNFINISHED_PODS = 'status.phase!=Succeeded,status.phase!=Failed';
/** The same of those that have a node. */
export const BOUND_PODS = `spec.nodeName!=,${UNFINISHED_PODS}`;

/**
 * A v1 Pod as the API server sends it. A value that can't be understood counts as absent, and never takes the pod or
 * another value with it: its author must not get out of anything by what he writes. The JSON is the API server's own:
 * nothing of it may be kept.
 */
export interface PodObject {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly metadata: JsonObject;
  readonly spec: JsonObject;
  readonly status: JsonObject;
  readonly annotations: JsonObject;
  /** Empty for a pod that no scheduler has bound. */
  readonly node: string;
  /** `Pending`, `Running`, `Succeeded`, `Failed` or `Unknown`; schedulers count pods by it. */
  readonly phase: string;
  /** All its containers have ended, and none is started again. */
  readonly hasFinished: boolean;
  readonly conditions: readonly JsonObject[];
  /** Its deletion has been asked for. */
  readonly isBeingDeleted: boolean;
  readonly qos: QosClass;
  /** Pod-level resources. */
  readonly resources: ResourcesObject;
  /** In the order of the pod spec, init containers first. Ephemeral containers are left out. */
  readonly containers: readonly ContainerObject[];
  /** The names of its ephemeral containers, which have no resources. */
  readonly ephemeralNames: readonly string[];
}

export interface ContainerObject {
  readonly name: string;
  readonly kind: ContainerKind;
  readonly object: JsonObject;
  readonly resources: ResourcesObject;
}

/** ResourceLists of Kubernetes; `readResourceList`, or `amountIn` for one resource, reads them. */
export interface ResourcesObject {
  readonly requests: JsonObject;
  readonly limits: JsonObject;
}

/** Reads a v1 Pod; undefined for one without uid or name. */
export function readPod(pod: unknown): PodObject | undefined {
  const { metadata, spec, status } = asObject(pod);
  const [meta, body, now] = [metadata, spec, status].map(asObject) as [JsonObject, JsonObject, JsonObject];
  const uid = asString(meta['uid']);
  const name = asString(meta['name']);
  if (uid === '' || name === '') return undefined;
  const resources = resourcesOf(body);
  const containers = listContainers(body);
  const phase = asString(now['phase']);
  return {
    uid,
    namespace: asString(meta['namespace']),
    name,
    metadata: meta,
    spec: body,
    status: now,
    phase,
    annotations: asObject(meta['annotations']),
    node: asString(body['nodeName']),
    hasFinished: phase === 'Succeeded' || phase === 'Failed',
    conditions: asArray(now['conditions']).map(asObject),
    isBeingDeleted: meta['deletionTimestamp'] !== undefined && meta['deletionTimestamp'] !== null,
    qos: readQos(now['qosClass']) ?? classify(containers, resources),
    resources,
    containers,
    ephemeralNames: asArray(body['ephemeralContainers']).map((container) => asString(asObject(container)['name'])),
  };
}

/**
 * The amount of one resource: CPU in thousandths, others in whole units. Undefined where it is not set, or can't be
 * read.
 */
export function amountIn(list: JsonObject, resource: string): number | undefined {
  return Object.hasOwn(list, resource) ? readAmount(resource, list[resource]) : undefined;
}

function listContainers({ initContainers, containers }: JsonObject): ContainerObject[] {
  const read = (object: JsonObject, kind: ContainerKind): ContainerObject => ({
    name: asString(object['name']),
    kind,
    object,
    resources: resourcesOf(object),
  });
  return [
    ...asArray(initContainers)
      .map(asObject)
      .map((initContainer) => read(initContainer, initContainer['restartPolicy'] === 'Always' ? 'sidecar' : 'init')),
    ...asArray(containers)
      .map(asObject)
      .map((container) => read(container, 'app')),
  ];
}

function resourcesOf(object: JsonObject): ResourcesObject {
  const { requests, limits } = asObject(object['resources']);
  return { requests: asObject(requests), limits: asObject(limits) };
}

function readQos(text: unknown): QosClass | undefined {
  return text === 'Guaranteed' || text === 'Burstable' || text === 'BestEffort' ? text : undefined;
}

function classify(containers: readonly ContainerObject[], ofPod: ResourcesObject): QosClass {
  const isPodLevel = COUNTED.some(
    (name) => (amountIn(ofPod.requests, name) ?? amountIn(ofPod.limits, name)) !== undefined,
  );
  return classifyQos(
    containers.map(({ resources }) => amountsOf(resources)),
    isPodLevel ? amountsOf(ofPod) : undefined,
  );
}

const COUNTED = ['cpu', 'memory'] as const;

function amountsOf({ requests, limits }: ResourcesObject) {
  const read = (list: JsonObject) => ({
    cpu: amountIn(list, 'cpu') ?? 0,
    memory: amountIn(list, 'memory') ?? 0,
  });
  return { requests: read(requests), limits: read(limits) };
}
