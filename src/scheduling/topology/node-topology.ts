import { isPolicyName, POLICY_TABLE } from '../../core/model/policies';
import { compareTexts } from '../../core/text';
import { asArray, asObject, asString, NODE_RULES, parseMilli, resourceVersionOf, type JsonObject } from '../../kube';
import { CPU, readAmounts, type Amounts, type ZoneAmounts } from './amounts';
import { readClaims, type Claim } from './claims';

/** The NodeResourceTopology of one node (`topology.crane.io/v1alpha1`), as far as it decides. */
export interface NodeTopology {
  readonly name: string;
  readonly resourceVersion: string;
  /** CPUs are given by results on this node; else the kubelet or cpusetd chooses them. */
  readonly isStatic: boolean;
  /** Pods that do not say otherwise get all their CPUs in one zone. */
  readonly isAware: boolean;
  /** Ascending by the number in their name. */
  readonly zones: readonly Zone[];
  /** Absent when the node gives the CPUs of a result to the pod as a whole, or cpusetd does not run there. */
  readonly rules?: NodeRules;
  /** Pods that extenders are binding to the node, by uid. */
  readonly claims: ReadonlyMap<string, Claim>;
}

/**
 * The rules of a node that gives each container CPUs of its own, init containers and sidecars included: it refuses containers by them
 * although the zones of the pod's result have enough CPUs. cpusetd publishes them as attributes.
 */
export interface NodeRules {
  /** A container gets whole cores of so many CPUs; 1 = any number of CPUs. */
  readonly cpusPerCore: number;
  /** The policy of a topology manager that refuses containers; absent for one that does not. */
  readonly topologyManager?: 'single-numa-node' | 'restricted';
}

export interface Zone {
  readonly name: string;
  readonly allocatable: Amounts;
  /** CPUs of the zone, in thousandths, also those that can't be allocated. */
  readonly capacityCpu: number;
}

/** More zones than any machine has. */
const MAX_ZONES = 256;

/** Reads an object of the API server; undefined for one without a name. Fields of another type count as missing. */
export function readNodeTopology(object: unknown): NodeTopology | undefined {
  const { metadata, craneManagerPolicy, zones, attributes } = asObject(object);
  const { name, annotations } = asObject(metadata);
  if (typeof name !== 'string' || name === '') return undefined;
  const { cpuManagerPolicy, topologyManagerPolicy } = asObject(craneManagerPolicy);
  const rules = readRules(asObject(attributes));
  return {
    name,
    resourceVersion: resourceVersionOf(object),
    isStatic: cpuManagerPolicy === 'Static',
    isAware: topologyManagerPolicy === 'SingleNUMANodePodLevel',
    zones: readZones(asArray(zones)),
    ...(rules && { rules }),
    claims: readClaims(asObject(annotations)),
  };
}

/** What is taken of a node's zones: by its pods, and by those that are being bound. */
export function sumUse(uses: Iterable<ZoneAmounts>): ZoneAmounts {
  const sums = new Map<string, Map<string, number>>();
  for (const use of uses) {
    for (const [zone, amounts] of use) {
      let sum = sums.get(zone);
      if (!sum) sums.set(zone, (sum = new Map<string, number>()));
      for (const [resource, amount] of amounts) sum.set(resource, (sum.get(resource) ?? 0) + amount);
    }
  }
  return sums;
}

/** True when the zones of a claim are free in a topology where the amounts `used` are taken by others. */
export function hasRoomFor({ zones }: NodeTopology, used: ZoneAmounts, claim: Claim): boolean {
  return [...claim.zones].every(([name, amounts]) => {
    const zone = zones.find((of) => of.name === name);
    return [...amounts].every(
      ([resource, amount]) => amount <= (zone?.allocatable.get(resource) ?? 0) - (used.get(name)?.get(resource) ?? 0),
    );
  });
}

function readRules(attributes: JsonObject): NodeRules | undefined {
  const policy = attributes[NODE_RULES.policy];
  if (typeof policy !== 'string' || !isPolicyName(policy) || POLICY_TABLE[policy].scheduledFor !== 'container')
    return undefined;
  const cpusPerCore = Number(attributes[NODE_RULES.cpusPerCore] ?? 1);
  const topologyManager = attributes[NODE_RULES.topologyManagerPolicy];
  return {
    cpusPerCore: Number.isSafeInteger(cpusPerCore) && cpusPerCore > 0 ? cpusPerCore : 1,
    ...((topologyManager === 'single-numa-node' || topologyManager === 'restricted') && { topologyManager }),
  };
}

/** Of zones with the same name the first counts. */
function readZones(zones: readonly unknown[]): readonly Zone[] {
  const byName = new Map<string, Zone>();
  for (const zone of zones.slice(0, MAX_ZONES).map(readZone)) if (!byName.has(zone.name)) byName.set(zone.name, zone);
  return [...byName.values()].sort(byNumber);
}

function readZone(zone: unknown): Zone {
  const { name, resources } = asObject(zone);
  const { allocatable, capacity } = asObject(resources);
  const capacityCpu = parseMilli(asObject(capacity)[CPU]) ?? 0;
  return { name: asString(name), allocatable: readAmounts(asObject(allocatable)), capacityCpu };
}

/** Ascending by the number, then by the name as text. */
function byNumber(a: Zone, b: Zone): number {
  return numberOf(a) - numberOf(b) || compareTexts(a.name, b.name);
}

function numberOf({ name }: Zone): number {
  return Number(/(\d{1,9})$/.exec(name)?.[1] ?? Number.MAX_SAFE_INTEGER);
}
