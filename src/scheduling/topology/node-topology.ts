import { asArray, asObject, asString, resourceVersionOf } from '../../kube';
import { readAmounts, type Amounts, type ZoneAmounts } from './amounts';
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
  /** A container gets whole cores of so many CPUs; 1 = any number of CPUs. */
  readonly cpusPerCore: number;
  /** Pods that extenders are binding to the node, by uid. */
  readonly claims: ReadonlyMap<string, Claim>;
}

export interface Zone {
  readonly name: string;
  readonly allocatable: Amounts;
}

/** More zones than any machine has. */
const MAX_ZONES = 256;
/** An attribute that cpusetd publishes under `full-pcpus-only`. */
export const CPUS_PER_CORE = 'cpusetd.io/cpus-per-core';

/** Reads an object of the API server; undefined for one without a name. Fields of another type count as missing. */
export function readNodeTopology(object: unknown): NodeTopology | undefined {
  const { metadata, craneManagerPolicy, zones, attributes } = asObject(object);
  const { name, annotations } = asObject(metadata);
  if (typeof name !== 'string' || name === '') return undefined;
  const { cpuManagerPolicy, topologyManagerPolicy } = asObject(craneManagerPolicy);
  const cpusPerCore = Number(asObject(attributes)[CPUS_PER_CORE] ?? 1);
  return {
    name,
    resourceVersion: resourceVersionOf(object),
    isStatic: cpuManagerPolicy === 'Static',
    isAware: topologyManagerPolicy === 'SingleNUMANodePodLevel',
    zones: asArray(zones).slice(0, MAX_ZONES).map(readZone).sort(byNumber),
    cpusPerCore: Number.isSafeInteger(cpusPerCore) && cpusPerCore > 0 ? cpusPerCore : 1,
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

function readZone(zone: unknown): Zone {
  const { name, resources } = asObject(zone);
  return { name: asString(name), allocatable: readAmounts(asObject(asObject(resources)['allocatable'])) };
}

function byNumber(a: Zone, b: Zone): number {
  return numberOf(a) - numberOf(b) || (a.name < b.name ? -1 : 1);
}

function numberOf({ name }: Zone): number {
  return Number(/(\d{1,9})$/.exec(name)?.[1] ?? Infinity);
}
