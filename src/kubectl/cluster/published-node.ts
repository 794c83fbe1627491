import type { NodeOffer } from '../../core/fit';
import { sum } from '../../core/sum';
import {
  asArray,
  asObject,
  asString,
  asTexts,
  parseMilli,
  parseSummary,
  readClaims,
  readCommunityOffer,
  readCraneOffer,
  SUMMARY_ATTRIBUTE,
  type Claim,
  type JsonObject,
  type NodeSummary,
} from '../../kube';

/** A node as the API server describes it. */
export interface PublishedNode {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly isCordoned: boolean;
  readonly taints: readonly Taint[];
  /** The condition `CpusetdReady`; absent when cpusetd does not write it. */
  readonly condition?: ReadyCondition;
  /** Allocatable CPU of the Node, in thousandths. */
  readonly allocatableMilliCpu: number;
  /** Absent when cpusetd publishes no NodeResourceTopology there. */
  readonly topology?: PublishedTopology;
}

export interface Taint {
  readonly key: string;
  readonly value: string;
  readonly effect: string;
}

export interface ReadyCondition {
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly heartbeatMs: number;
}

export interface PublishedTopology {
  readonly zones: readonly PublishedZone[];
  /** All that decides whether a pod fits: as the extender reads it, where the node publishes Crane's kind. */
  readonly offer: NodeOffer;
  /** The same with what is free now, where no pods are counted. */
  readonly now: NodeOffer;
  /** The zones of pods that extenders are binding to the node, by uid. */
  readonly claims: ReadonlyMap<string, Claim>;
  /** Absent for an object of another publisher, or of an older cpusetd. */
  readonly summary?: NodeSummary;
}

export interface PublishedZone {
  readonly name: string;
  readonly capacity: number;
  readonly allocatable: number;
  readonly available: number;
}

const MAX_ZONES = 256;

/** Reads a v1 Node. Fields of another type count as missing. */
export function readNode(object: unknown, topology: PublishedTopology | undefined): PublishedNode {
  const { metadata, spec, status } = asObject(object);
  const { allocatable, conditions } = asObject(status);
  const found = asArray(conditions)
    .map(asObject)
    .find(({ type }) => type === 'CpusetdReady');
  return {
    name: asString(asObject(metadata)['name']),
    labels: asTexts(asObject(metadata)['labels']),
    isCordoned: asObject(spec)['unschedulable'] === true,
    taints: asArray(asObject(spec)['taints']).map(asObject).map(readTaint),
    ...(found && { condition: readCondition(found) }),
    allocatableMilliCpu: parseMilli(asObject(allocatable)['cpu']) ?? 0,
    ...(topology && { topology }),
  };
}

function readTaint({ key, value, effect }: JsonObject): Taint {
  return { key: asString(key), value: asString(value), effect: asString(effect) };
}

function readCondition({ status, reason, message, lastHeartbeatTime }: JsonObject): ReadyCondition {
  return {
    status: asString(status),
    reason: asString(reason),
    message: asString(message),
    heartbeatMs: Date.parse(asString(lastHeartbeatTime)) || 0,
  };
}

/** Reads a NodeResourceTopology of the community's kind. */
export function readCommunityTopology(object: unknown): PublishedTopology {
  const { zones, attributes } = asObject(object);
  const values = new Map(
    asArray(attributes)
      .map(asObject)
      .map(({ name, value }) => [asString(name), asString(value)]),
  );
  const offer = readCommunityOffer(object);
  return {
    zones: asArray(zones)
      .slice(0, MAX_ZONES)
      .map(asObject)
      .filter(({ type }) => type === 'Node')
      .map(({ name, resources }) => {
        const cpu = asArray(resources)
          .map(asObject)
          .find((of) => of['name'] === 'cpu');
        return {
          name: asString(name),
          capacity: toCpus(cpu?.['capacity']),
          allocatable: toCpus(cpu?.['allocatable']),
          available: toCpus(cpu?.['available']),
        };
      }),
    ...{ offer, now: offer, claims: new Map() },
    ...readSummary(values.get(SUMMARY_ATTRIBUTE)),
  };
}

/** Reads one of Crane's kind. What is free there stands in the summary alone. */
export function readCraneTopology(object: unknown): PublishedTopology {
  const { zones, attributes } = asObject(object);
  const summary = readSummary(asTexts(attributes)[SUMMARY_ATTRIBUTE]);
  const offer = readCraneOffer(object);
  const shown = asArray(zones)
    .slice(0, MAX_ZONES)
    .map(asObject)
    .map(({ name, resources }, i) => {
      const { capacity, reservedCPUNums } = asObject(resources);
      const all = toCpus(asObject(capacity)['cpu']);
      const reserved = typeof reservedCPUNums === 'number' ? reservedCPUNums : 0;
      const available = summary.summary?.available[i] ?? 0;
      return { name: asString(name), capacity: all, allocatable: Math.max(0, all - reserved), available };
    });
  const claims = readClaims(asObject(asObject(asObject(object)['metadata'])['annotations']));
  return { zones: shown, offer, now: offerNow(offer, shown), claims, ...summary };
}

function offerNow(offer: NodeOffer, shown: readonly PublishedZone[]): NodeOffer {
  const available = new Map(shown.map((zone) => [zone.name, 1_000 * zone.available]));
  const zones = offer.zones.map((zone) => {
    const cpu = available.get(zone.name) ?? 0;
    return { ...zone, room: { cpu, whole: cpu } };
  });
  return { ...offer, zones, bound: sum([...available.values()]) };
}

/** The two kinds of one node: people see what is free now, and Crane's kind decides, since the extender reads it. */
export function joinTopologies(community: PublishedTopology, crane: PublishedTopology): PublishedTopology {
  return { ...community, offer: crane.offer, claims: crane.claims };
}

function readSummary(text: string | undefined): { readonly summary?: NodeSummary } {
  const summary = text === undefined ? undefined : parseSummary(text);
  return summary ? { summary } : {};
}

function toCpus(quantity: unknown): number {
  return Math.floor((parseMilli(quantity) ?? 0) / 1_000);
}

/** A condition is written at least every five minutes; an older one tells nothing of now. */
const STALE_MS = 15 * 60_000;

export interface NodeState {
  readonly kind: 'ready' | 'not-ready' | 'silent' | 'unknown' | 'absent';
  readonly because: string;
}

/** The state of cpusetd on a node, as far as the API server knows. */
export function stateOf({ condition, topology }: PublishedNode, nowMs: number): NodeState {
  if (!condition)
    return topology?.summary
      ? { kind: 'unknown', because: 'no condition CpusetdReady (--node-condition)' }
      : { kind: 'absent', because: 'nothing of cpusetd is published' };
  const silentMs = nowMs - condition.heartbeatMs;
  if (silentMs > STALE_MS)
    return { kind: 'silent', because: `cpusetd was last heard of ${Math.round(silentMs / 60_000)} minutes ago` };
  if (condition.status === 'True') return { kind: 'ready', because: '' };
  return { kind: 'not-ready', because: condition.message || condition.reason };
}
