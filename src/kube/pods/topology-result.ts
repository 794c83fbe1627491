import { listResultZones, TOPOLOGY_RESULT } from '../../core/annotations/topology-result';
import { CPU, type Amounts, type Announcement, type ZoneAmounts, type ZoneGrant } from '../../core/fit';
import { sumPodCpus } from '../../core/model/pod-cpus';
import { amountIn, type PodObject } from './read-pod';
import { formatAmount, readResourceList } from '../objects/resource-list';
import { asObject, asString } from '../json';
import { toPodSpec } from './to-pod-spec';

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
        capacity: Object.fromEntries(
          [...amounts].map(([resource, amount]) => [resource, formatAmount(resource, amount)]),
        ),
      },
    })),
  );
}

/** The zones of such an annotation: those of the type `Node`, with any name. Empty for a text that can't be read. */
export function readTopologyResult(text: string): ZoneAmounts {
  const zones = new Map<string, Amounts>();
  const listed = listResultZones(text);
  for (const { type, name, capacity } of listed.ok ? listed.zones : [])
    if (type === 'Node') zones.set(asString(name), readResourceList(asObject(capacity)));
  return zones;
}

/**
 * Reads what a pod announces by its topology-result; undefined for one that announces nothing. Its author can write
 * that annotation: of each resource but CPU at most as much counts as the pod requests in all; for CPU see `useOf`.
 */
export function announcementOf(pod: PodObject): Announcement | undefined {
  const { annotations } = pod;
  const text = Object.hasOwn(annotations, TOPOLOGY_RESULT) ? annotations[TOPOLOGY_RESULT] : undefined;
  if (typeof text !== 'string') return undefined;
  const requests = new Map<string, number>();
  const requestOf = (resource: string): number => {
    const known = requests.get(resource) ?? sumRequestOf(pod, resource);
    requests.set(resource, known);
    return known;
  };
  const zones = [...readTopologyResult(text)].map(([zone, amounts]) => {
    const bounded = [...amounts].map(
      ([name, amount]) => [name, name === CPU ? amount : Math.min(amount, requestOf(name))] as const,
    );
    return [zone, new Map(bounded.filter(([, amount]) => amount > 0))] as const;
  });
  const taken = zones.filter(([, amounts]) => amounts.size > 0);
  return taken.length === 0 ? undefined : { spec: toPodSpec(pod), zones: new Map(taken) };
}

/** The request of the whole pod, as the scheduler counts it. */
function sumRequestOf({ containers, resources }: PodObject, resource: string): number {
  const amounts = containers.map((container) => ({
    kind: container.kind,
    cpus: amountIn(container.resources.requests, resource) ?? 0,
  }));
  return Math.max(sumPodCpus(amounts), amountIn(resources.requests, resource) ?? 0);
}
