import { CPU, PLAIN_RULES, type NodeOffer, type NodeRules, type OfferedZone } from '../../core/fit';
import { compareTexts } from '../../core/text';
import { readResourceList } from '../objects/resource-list';
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

/** An object as it was read, for schedulers and for people. */
export interface ReadTopology {
  readonly offer: NodeOffer;
  /** In the order of the offer. */
  readonly zones: readonly ReadZone[];
  readonly attributes: Attributes;
}

export interface ReadZone {
  readonly offered: OfferedZone;
  /** CPU that is not reserved, in thousandths. */
  readonly allocatableCpu: number;
  /** Its position in the object. */
  readonly position: number;
}

type Attributes = ReadonlyMap<string, string>;

/** The offer of Crane's NodeResourceTopology (`topology.crane.io/v1alpha1`). */
export function readCraneOffer(object: unknown): NodeOffer {
  return readCraneObject(object).offer;
}

/** The offer of the community's NodeResourceTopology (`topology.node.k8s.io/v1alpha2`). */
export function readCommunityOffer(object: unknown): NodeOffer {
  return readCommunityObject(object).offer;
}

/** Reads an object of Crane's kind. Fields of another type count as missing. */
export function readCraneObject(object: unknown): ReadTopology {
  const { craneManagerPolicy, zones: list, attributes: texts } = asObject(object);
  const { cpuManagerPolicy, topologyManagerPolicy } = asObject(craneManagerPolicy);
  const attributes = new Map(Object.entries(asTexts(texts)));
  const { rules, room } = readAttributes(attributes);
  const zones = readZones(list, (zone) => {
    const { allocatable, capacity, reservedCPUNums } = asObject(zone['resources']);
    const capacityCpu = parseMilli(asObject(capacity)[CPU]) ?? 0;
    const reserved = typeof reservedCPUNums === 'number' ? reservedCPUNums : 0;
    const offered = offerZone(zone, room, { capacityCpu, allocatable: readResourceList(asObject(allocatable)) });
    return { offered, allocatableCpu: Math.max(0, capacityCpu - 1_000 * reserved) };
  });
  const offer = {
    isStatic: cpuManagerPolicy === 'Static',
    isAware: topologyManagerPolicy === 'SingleNUMANodePodLevel',
    byResults: true,
    zones: zones.map(({ offered }) => offered),
    ...(room?.bound !== undefined && { bound: room.bound }),
    ...(rules && { rules }),
  };
  return { offer, zones, attributes };
}

/**
 * Reads an object of the community's kind: what is free there is free now, and the node chooses CPUs alone. Without
 * rules of cpusetd it is the kubelet that chooses, by its static policy and the topology manager that the object names.
 */
export function readCommunityObject(object: unknown): ReadTopology {
  const { zones: list, attributes: pairs } = asObject(object);
  const attributes = new Map(
    asArray(pairs).map((pair) => [asString(asObject(pair)['name']), asString(asObject(pair)['value'])]),
  );
  const { rules, room } = readAttributes(attributes);
  const ofNodes = ({ type }: JsonObject): boolean => type === 'Node';
  const zones = readZones(
    list,
    (zone) => {
      const lists = asArray(zone['resources']).map(asObject);
      const valuesOf = (field: string) =>
        new Map(lists.map((resource) => [asString(resource['name']), resource[field]]));
      const cpuOf = (field: string): number => parseMilli(valuesOf(field).get(CPU)) ?? 0;
      const allocatable = readResourceList(Object.fromEntries(valuesOf('available')));
      const offered = offerZone(zone, room, { capacityCpu: cpuOf('capacity'), allocatable });
      return { offered, allocatableCpu: cpuOf('allocatable') };
    },
    ofNodes,
  );
  const offer = {
    isStatic: true,
    isAware: false,
    byResults: false,
    zones: zones.map(({ offered }) => offered),
    ...(room?.bound !== undefined && { bound: room.bound }),
    rules: rules ?? rulesOfKubelet(attributes.get('topologyManagerPolicy'), attributes.get('topologyManagerScope')),
  };
  return { offer, zones, attributes };
}

/** Without rules there is no room: an attribute of another publisher means nothing here. */
function readAttributes(attributes: Attributes) {
  const text = attributes.get(RULES_ATTRIBUTE);
  if (text === undefined) return {};
  return { rules: parseRules(text), room: parseRoom(attributes.get(ROOM_ATTRIBUTE)) };
}

/** Ascending by the number in the name, then by the name as text; of zones with the same name the first counts. */
function readZones(
  list: unknown,
  read: (zone: JsonObject) => Omit<ReadZone, 'position'>,
  counts: (zone: JsonObject) => boolean = () => true,
): readonly ReadZone[] {
  const byName = new Map<string, ReadZone>();
  for (const [position, zone] of asArray(list).slice(0, MAX_ZONES).map(asObject).entries()) {
    if (!counts(zone) || byName.has(asString(zone['name']))) continue;
    byName.set(asString(zone['name']), { ...read(zone), position });
  }
  const order = (a: string, b: string): number => numberOf(a) - numberOf(b) || compareTexts(a, b);
  return [...byName].sort(([a], [b]) => order(a, b)).map(([, zone]) => zone);
}

function offerZone(
  { name }: JsonObject,
  room: PublishedRoom | undefined,
  amounts: Pick<OfferedZone, 'capacityCpu' | 'allocatable'>,
): OfferedZone {
  const zone = { name: asString(name), ...amounts };
  return room ? { ...zone, room: room.roomOf(zone.name) } : zone;
}

function rulesOfKubelet(policy: string | undefined, scope: string | undefined): NodeRules {
  return {
    ...PLAIN_RULES,
    topologyPolicy: toTopologyPolicy(policy) ?? 'none',
    topologyScope: scope === 'pod' ? 'pod' : 'container',
  };
}

function numberOf(name: string): number {
  return Number(/(\d{1,9})$/.exec(name)?.[1] ?? Number.MAX_SAFE_INTEGER);
}
