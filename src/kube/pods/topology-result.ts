import { MAX_RESULT_LENGTH, TOPOLOGY_RESULT } from '../../core/annotations/topology-result';
import { CPU, type Amounts, type Announcement, type ZoneAmounts, type ZoneGrant } from '../../core/fit';
import { sumPodCpus, type ContainerKind } from '../../core/inference/pod-cpus';
import { formatAmount, readAmount, readResourceList } from './resource-list';
import { asArray, asObject, asString, type JsonObject } from '../json';
import { toWatchedPod } from './to-pod-spec';

const MAX_ZONES = 256;

/**
 * The annotation `topology.crane.io/topology-result` as crane-scheduler writes it:
 * `[{"name":"node0","type":"Node","resources":{"capacity":{"cpu":"2"}}}]`.
 */
export function formatTopologyResult(grants: readonly ZoneGrant[]): string {
  return JSON.stringify(
    grants.map(({ zone, amounts }) => ({
      name: zone,
      type: 'Node',
      resources: {
        capacity: Object.fromEntries([...amounts].map(([resource, of]) => [resource, formatAmount(resource, of)])),
      },
    })),
  );
}

/** The zones of such an annotation: those of the type `Node`, with any name. Empty for a text that can't be read. */
export function readTopologyResult(text: string): ZoneAmounts {
  const zones = new Map<string, Amounts>();
  for (const zone of parseList(text).slice(0, MAX_ZONES)) {
    const { type, name, resources } = asObject(zone);
    if (type === 'Node') zones.set(asString(name), readResourceList(asObject(asObject(resources)['capacity'])));
  }
  return zones;
}

/**
 * Reads what a pod announces by its topology-result; undefined for one that announces nothing. Its author can write that annotation: of each resource
 * but CPU at most as much counts as the pod requests in all; for CPU see `useOf`.
 */
export function readAnnouncement(pod: unknown): Announcement | undefined {
  const { metadata, spec } = asObject(pod);
  const annotations = asObject(asObject(metadata)['annotations']);
  const text = Object.hasOwn(annotations, TOPOLOGY_RESULT) ? annotations[TOPOLOGY_RESULT] : undefined;
  const watched = typeof text === 'string' ? toWatchedPod(pod) : undefined;
  if (typeof text !== 'string' || !watched) return undefined;
  const requests = new Map<string, number>();
  const requestOf = (resource: string): number => {
    const known = requests.get(resource) ?? sumRequestOf(asObject(spec), resource);
    requests.set(resource, known);
    return known;
  };
  const zones = [...readTopologyResult(text)].map(([zone, amounts]) => {
    const bounded = [...amounts].map(([resource, of]) => [resource, resource === CPU ? of : Math.min(of, requestOf(resource))] as const); // prettier-ignore
    return [zone, new Map(bounded.filter(([, amount]) => amount > 0))] as const;
  });
  const taken = zones.filter(([, amounts]) => amounts.size > 0);
  return taken.length === 0 ? undefined : { spec: watched.spec, zones: new Map(taken) };
}

/** The request of the whole pod, as the scheduler counts it. */
function sumRequestOf(spec: JsonObject, resource: string): number {
  const read = (of: unknown): number =>
    readAmount(resource, asObject(asObject(asObject(of)['resources'])['requests'])[resource]) ?? 0;
  const of = (containers: unknown, kindOf: (container: JsonObject) => ContainerKind) =>
    asArray(containers).map((container) => ({ kind: kindOf(asObject(container)), cpus: read(container) }));
  const sum = sumPodCpus([
    ...of(spec['initContainers'], ({ restartPolicy }) => (restartPolicy === 'Always' ? 'sidecar' : 'init')),
    ...of(spec['containers'], () => 'app'),
  ]);
  return Math.max(sum, read(spec));
}

function parseList(text: string): readonly unknown[] {
  if (text.length > MAX_RESULT_LENGTH) return [];
  try {
    return asArray(JSON.parse(text));
  } catch {
    return [];
  }
}
