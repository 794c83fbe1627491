import type { Amounts, NodeResources, Zone } from '../../core/node-resources/node-resources';
import { asArray, asObject, asString, type JsonObject } from '../json';
import { reservedByKubelet } from '../kubelet/reserved-memory';
import type { Fields, Report, TopologyKind } from './topology-resource';

/**
 * The community's NodeResourceTopology, as scheduler-plugins' NodeResourceTopologyMatch reads it: zones `node-<id>` of the
 * type `Node`, for each resource what the hardware has, what is not reserved, and what is left; policy and scope in the
 * kubelet's words as attributes.
 */
export const communityTopology: TopologyKind = {
  name: 'community',
  apiVersion: 'topology.node.k8s.io/v1alpha2',
  path: '/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies',
  build: buildFields,
  withForeign: ({ attributes }, fields) => ({
    ...fields,
    attributes: mergeAttributes(asArray(attributes).map(asObject), asArray(fields['attributes']).map(asObject)),
  }),
  // Without the attribute the scheduler would take the fingerprint from here: of pods that another exporter once counted.
  superseded: ['topology.node.k8s.io/fingerprint'],
};

const POLICY = 'topologyManagerPolicy';
const SCOPE = 'topologyManagerScope';
const FINGERPRINT = 'nodeTopologyPodsFingerprint';
const METHOD = 'nodeTopologyPodsFingerprintMethod';
const OWN_ATTRIBUTES: ReadonlySet<string> = new Set([POLICY, SCOPE, FINGERPRINT, METHOD]);

/** Ours take the places that they had, new ones come last; what others put there stays where it is. */
function mergeAttributes(stored: readonly JsonObject[], ours: readonly JsonObject[]): readonly JsonObject[] {
  const rest = new Map(ours.map((attribute) => [asString(attribute['name']), attribute]));
  const merged = stored.flatMap((attribute) => {
    const name = asString(attribute['name']);
    if (!OWN_ATTRIBUTES.has(name)) return [attribute];
    const own = rest.get(name);
    rest.delete(name);
    return own ? [own] : [];
  });
  return [...merged, ...rest.values()];
}

function buildFields({ resources, fingerprint, kubelet }: Report): Fields {
  const zones = resources.zones.filter(({ id }) => id <= MAX_ID);
  const memory = new Map(resources.zones.map(({ id, memoryBytes }) => [id, memoryBytes]));
  const reservedMemory = kubelet ? reservedByKubelet(kubelet, memory) : new Map<number, number>();
  return {
    // Superseded by the attributes, but definitions of some versions still demand it.
    topologyPolicies: [superseded(resources)],
    attributes: [
      { name: POLICY, value: resources.topologyPolicy },
      { name: SCOPE, value: resources.topologyScope },
      ...(fingerprint === undefined
        ? []
        : [
            { name: FINGERPRINT, value: fingerprint },
            { name: METHOD, value: 'all' },
          ]),
    ],
    zones: [
      ...zones.map((zone) => ({ id: zone.id, zone: buildZone(zone, zones, reservedMemory.get(zone.id) ?? 0) })),
      ...missingIds(zones).map(buildEmptyZone),
    ]
      .sort((a, b) => a.id - b.id)
      .map(({ zone }) => zone),
  };
}

/** The scheduler has places for ids up to this one, and panics at the next. */
const MAX_ID = 63;

/**
 * The ids below the last zone's that no zone has. The scheduler counts zones and then uses ids as places in a list of so many:
 * a node that is offline would make it panic.
 */
function missingIds(zones: readonly Zone[]): number[] {
  const ids = new Set(zones.map(({ id }) => id));
  return Array.from({ length: Math.max(0, ...ids) }, (_, id) => id).filter((id) => !ids.has(id));
}

/** Stands for a node that is not there: nothing fits. */
function buildEmptyZone(id: number) {
  const resources = [toResource('cpu', { capacity: 0, allocatable: 0, available: 0 })];
  return { id, zone: { name: nameOf({ id }), type: 'Node', resources } };
}

function withoutReserved({ capacity, allocatable, available }: Amounts, reserved: number): Amounts {
  return { capacity, allocatable: Math.max(0, allocatable - reserved), available: Math.max(0, available - reserved) };
}

/** Distances to nodes that are no zones are left out: costs name other zones. */
function buildZone({ id, cpu, memory, distances }: Zone, zones: readonly Zone[], reservedBytes: number) {
  const costs = zones.flatMap((other) => {
    const value = distances.get(other.id);
    return value === undefined ? [] : [{ name: nameOf(other), value }];
  });
  return {
    name: nameOf({ id }),
    type: 'Node',
    ...(costs.length > 0 && { costs }),
    resources: [
      toResource('cpu', cpu),
      ...(memory ? [toResource('memory', withoutReserved(memory, reservedBytes))] : []),
    ],
  };
}

function nameOf({ id }: Pick<Zone, 'id'>): string {
  return `node-${id}`;
}

function toResource(name: string, { capacity, allocatable, available }: Amounts) {
  return { name, capacity: String(capacity), allocatable: String(allocatable), available: String(available) };
}

function superseded({ topologyPolicy, topologyScope }: NodeResources): string {
  const level = topologyScope === 'pod' ? 'PodLevel' : 'ContainerLevel';
  switch (topologyPolicy) {
    case 'single-numa-node':
      return `SingleNUMANode${level}`;
    case 'restricted':
      return `Restricted${level}`;
    case 'best-effort':
      return `BestEffort${level}`;
    case 'none':
      return 'None';
  }
}
