import { CPU, PLAIN_RULES, type NodeOffer, type NodeRules, type OfferedZone } from '../../core/fit';
import { compareTexts } from '../../core/text';
import { readResourceList } from '../pods/resource-list';
import { asArray, asObject, asString, asTexts, type JsonObject } from '../json';
import { parseMilli } from '../quantity';
import {
  parseRoom,
  parseRules,
  ROOM_ATTRIBUTE,
  RULES_ATTRIBUTE,
  toTopologyPolicy,
  type PublishedRoom,
} from './fit-attributes';

/** More zones than any machine has. */
const MAX_ZONES = 256;

/** Reads Crane's NodeResourceTopology (`topology.crane.io/v1alpha1`). Fields of another type count as missing. */
export function readCraneOffer(object: unknown): NodeOffer {
  const { craneManagerPolicy, zones, attributes } = asObject(object);
  const { cpuManagerPolicy, topologyManagerPolicy } = asObject(craneManagerPolicy);
  const texts = asTexts(attributes);
  const rules = texts[RULES_ATTRIBUTE] === undefined ? undefined : parseRules(texts[RULES_ATTRIBUTE]);
  const room = rules === undefined ? undefined : parseRoom(texts[ROOM_ATTRIBUTE]);
  return {
    isStatic: cpuManagerPolicy === 'Static',
    isAware: topologyManagerPolicy === 'SingleNUMANodePodLevel',
    byResults: true,
    zones: firstOfName(asArray(zones).slice(0, MAX_ZONES).map((zone) => readCraneZone(asObject(zone), room))), // prettier-ignore
    ...(room?.bound !== undefined && { bound: room.bound }),
    ...(rules && { rules }),
  };
}

function readCraneZone({ name, resources }: JsonObject, room: PublishedRoom | undefined): OfferedZone {
  const { allocatable, capacity } = asObject(resources);
  const zone = {
    name: asString(name),
    capacityCpu: parseMilli(asObject(capacity)[CPU]) ?? 0,
    allocatable: readResourceList(asObject(allocatable)),
  };
  return room ? { ...zone, room: room.of(zone.name) } : zone;
}

/**
 * Reads the community's NodeResourceTopology (`topology.node.k8s.io/v1alpha2`): what is free there is free now, and the node chooses CPUs alone. Without
 * rules of cpusetd it is the kubelet that chooses, by its static policy and the topology manager that the object names.
 */
export function readCommunityOffer(object: unknown): NodeOffer {
  const { zones, attributes } = asObject(object);
  const texts = new Map(
    asArray(attributes).map((of) => [asString(asObject(of)['name']), asString(asObject(of)['value'])]),
  );
  const text = texts.get(RULES_ATTRIBUTE);
  const room = text === undefined ? undefined : parseRoom(texts.get(ROOM_ATTRIBUTE));
  return {
    isStatic: true,
    isAware: false,
    byResults: false,
    zones: firstOfName(
      asArray(zones)
        .slice(0, MAX_ZONES)
        .map(asObject)
        .filter(({ type }) => type === 'Node')
        .map((zone) => readCommunityZone(zone, room)),
    ),
    ...(room?.bound !== undefined && { bound: room.bound }),
    rules: text === undefined ? rulesOfKubelet(texts.get('topologyManagerPolicy'), texts.get('topologyManagerScope')) : parseRules(text), // prettier-ignore
  };
}

function readCommunityZone({ name, resources }: JsonObject, room: PublishedRoom | undefined): OfferedZone {
  const lists = asArray(resources).map(asObject);
  const of = (field: string) => lists.map((resource) => [asString(resource['name']), resource[field]] as const);
  const zone = {
    name: asString(name),
    capacityCpu: parseMilli(new Map(of('capacity')).get(CPU)) ?? 0,
    allocatable: readResourceList(Object.fromEntries(of('available'))),
  };
  return room ? { ...zone, room: room.of(zone.name) } : zone;
}

function rulesOfKubelet(policy: string | undefined, scope: string | undefined): NodeRules {
  return {
    ...PLAIN_RULES,
    topologyPolicy: toTopologyPolicy(policy) ?? 'none',
    topologyScope: scope === 'pod' ? 'pod' : 'container',
  };
}

/** Ascending by the number in the name, then by the name as text; of zones with the same name the first counts. */
function firstOfName(zones: readonly OfferedZone[]): readonly OfferedZone[] {
  const byName = new Map<string, OfferedZone>();
  for (const zone of zones) if (!byName.has(zone.name)) byName.set(zone.name, zone);
  return [...byName.values()].sort((a, b) => numberOf(a) - numberOf(b) || compareTexts(a.name, b.name));
}

function numberOf({ name }: OfferedZone): number {
  return Number(/(\d{1,9})$/.exec(name)?.[1] ?? Number.MAX_SAFE_INTEGER);
}
