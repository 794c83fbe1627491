import { CPU, type Amounts, type PodToPlace } from '../../core/fit';
import { readAmount } from './resource-list';
import { asArray, asObject, asString, type JsonObject } from '../json';
import { toWatchedPod } from './to-pod-spec';

const CPU_POLICY = 'topology.crane.io/cpu-policy';
const AWARENESS = 'topology.crane.io/topology-awareness';
/** Go's boolean texts. */
const TRUE = ['1', 't', 'T', 'TRUE', 'true', 'True'];
const FALSE = ['0', 'f', 'F', 'FALSE', 'false', 'False'];

/**
 * Reads a v1 Pod for placement; undefined for one without uid or name.
 *
 * @param resources the ones that are looked at in zones
 */
export function readPodToPlace(pod: unknown, resources: readonly string[] = [CPU]): PodToPlace | undefined {
  const watched = toWatchedPod(pod);
  if (!watched) return undefined;
  const { metadata, spec } = asObject(pod);
  const { annotations, ownerReferences } = asObject(metadata);
  const { initContainers, containers } = asObject(spec);
  const notes = asObject(annotations);
  return {
    spec: watched.spec,
    isOfDaemonSet: asArray(ownerReferences).some((owner) => asObject(owner)['kind'] === 'DaemonSet'),
    awareness: parseBoolean(noteOf(notes, AWARENESS)),
    declines: noteOf(notes, CPU_POLICY) === 'none',
    requests: resources.includes(CPU)
      ? new Map([...asArray(initContainers), ...asArray(containers)].map((container) => readRequests(container, resources))) // prettier-ignore
      : new Map(),
  };
}

function readRequests(container: unknown, resources: readonly string[]): readonly [name: string, requests: Amounts] {
  const { name, resources: of } = asObject(container);
  const requests = asObject(asObject(of)['requests']);
  const amounts = resources.map((resource) => [resource, readAmount(resource, requests[resource]) ?? 0] as const);
  return [asString(name), new Map(amounts.filter(([, amount]) => amount > 0))];
}

function parseBoolean(text: string | undefined): boolean | undefined {
  if (text === undefined) return undefined;
  return TRUE.includes(text) ? true : FALSE.includes(text) ? false : undefined;
}

function noteOf(notes: JsonObject, name: string): string | undefined {
  const value = Object.hasOwn(notes, name) ? notes[name] : undefined;
  return typeof value === 'string' ? value : undefined;
}
