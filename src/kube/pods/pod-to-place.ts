import { CPU, type Amounts, type PodToPlace } from '../../core/fit';
import { asArray, asObject, type JsonObject } from '../json';
import { amountIn, readPod, type ContainerObject, type PodObject } from './read-pod';
import { toPodSpec } from './to-pod-spec';

const CPU_POLICY = 'topology.crane.io/cpu-policy';
const AWARENESS = 'topology.crane.io/topology-awareness';
/** Go's boolean texts. */
const TRUE = ['1', 't', 'T', 'TRUE', 'true', 'True'];
const FALSE = ['0', 'f', 'F', 'FALSE', 'false', 'False'];

/** Reads a v1 Pod for placement; undefined for one without uid or name. */
export function readPodToPlace(object: unknown, resources?: readonly string[]): PodToPlace | undefined {
  const pod = readPod(object);
  return pod && toPodToPlace(pod, resources);
}

/** @param resources the ones that are looked at in zones */
export function toPodToPlace(pod: PodObject, resources: readonly string[] = [CPU]): PodToPlace {
  const { annotations, metadata, containers } = pod;
  return {
    spec: toPodSpec(pod),
    isOfDaemonSet: asArray(metadata['ownerReferences']).some((owner) => asObject(owner)['kind'] === 'DaemonSet'),
    awareness: parseBoolean(noteOf(annotations, AWARENESS)),
    declines: noteOf(annotations, CPU_POLICY) === 'none',
    requests: resources.includes(CPU)
      ? new Map(containers.map((container) => [container.name, requestsOf(container, resources)]))
      : new Map(),
  };
}

function requestsOf({ resources: { requests } }: ContainerObject, resources: readonly string[]): Amounts {
  const amounts = resources.map((resource) => [resource, amountIn(requests, resource) ?? 0] as const);
  return new Map(amounts.filter(([, amount]) => amount > 0));
}

function parseBoolean(text: string | undefined): boolean | undefined {
  if (text === undefined) return undefined;
  return TRUE.includes(text) ? true : FALSE.includes(text) ? false : undefined;
}

function noteOf(annotations: JsonObject, name: string): string | undefined {
  const value = Object.hasOwn(annotations, name) ? annotations[name] : undefined;
  return typeof value === 'string' ? value : undefined;
}
