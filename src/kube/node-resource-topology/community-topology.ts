import type { Amounts, NodeResources, Zone } from '../../core/node-resources/node-resources';
import { asArray, asObject, asString, type JsonObject } from '../json';
import { reservedByKubelet } from '../kubelet/reserved-memory';
import { CORE_KINDS_ATTRIBUTE, formatCoreKinds } from './core-kinds';
import { formatRoom, formatRules, ROOM_ATTRIBUTE, RULES_ATTRIBUTE } from './fit-attributes';
import { formatSummary, SUMMARY_ATTRIBUTE } from './node-summary';
import type { Fields, Report, TopologyKind } from './topology-resource';

/**
 * The community's NodeResourceTopology, as scheduler-plugins' NodeResourceTopologyMatch reads it: zones `node-<id>` of
 * the type `Node`, for each resource the capacity, the part that is not reserved, and the free part; policy and scope
 * as attributes with the kubelet's values.
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
  // Without the attribute the scheduler would use the fingerprint from here, which another exporter may have left.
  superseded: ['topology.node.k8s.io/fingerprint'],
};

const POLICY = 'topologyManagerPolicy';
const SCOPE = 'topologyManagerScope';
const FINGERPRINT = 'nodeTopologyPodsFingerprint';
const METHOD = 'nodeTopologyPodsFingerprintMethod';
const OWN_ATTRIBUTES: ReadonlySet<string> = new Set([
  POLICY,
  SCOPE,
  FINGERPRINT,
  METHOD,
  SUMMARY_ATTRIBUTE,
  CORE_KINDS_ATTRIBUTE,
  RULES_ATTRIBUTE,
  ROOM_ATTRIBUTE,
]);

/** Our attributes keep their positions, new ones come last; those of others stay unchanged. */
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

function buildFields({ resources, fingerprint, kubelet, summary }: Report): Fields {
  const { coreKinds } = resources;
  const zones = resources.zones.filter(({ id }) => id <= MAX_ID);
  const memory = new Map(resources.zones.map(({ id, memoryBytes }) => [id, memoryBytes]));
  const reservedMemory = kubelet ? reservedByKubelet(kubelet, memory) : new Map<number, number>();
  return {
    // Replaced by the attributes, but some versions of the definition still demand it.
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
      { name: RULES_ATTRIBUTE, value: formatRules(resources.rules) },
      { name: ROOM_ATTRIBUTE, value: formatRoom(resources, 'now') },
      ...(coreKinds.length === 0 ? [] : [{ name: CORE_KINDS_ATTRIBUTE, value: formatCoreKinds(coreKinds) }]),
      ...(summary ? [{ name: SUMMARY_ATTRIBUTE, value: formatSummary(summary) }] : []),
    ],
    zones: [
      ...zones.map((zone) => ({ id: zone.id, zone: buildZone(zone, zones, reservedMemory.get(zone.id) ?? 0) })),
      ...missingIds(zones).map(buildEmptyZone),
    ]
      .sort((a, b) => a.id - b.id)
      .map(({ zone }) => zone),
  };
}

/** Highest id that the scheduler has room for; it panics at the next. */
const MAX_ID = 63;

/**
 * The ids below the last zone's that no zone has. The scheduler counts zones and uses ids as indexes in a list of that
 * length, so an offline node would make it panic.
 */
function missingIds(zones: readonly Zone[]): number[] {
  const ids = new Set(zones.map(({ id }) => id));
  return Array.from({ length: Math.max(0, ...ids) }, (_, id) => id).filter((id) => !ids.has(id));
}

/** A zone for a node that is offline: nothing fits. */
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
