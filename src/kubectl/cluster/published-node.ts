import {
  asArray,
  asObject,
  asString,
  asTexts,
  CONDITION_TYPE,
  parseMilli,
  STOPPED,
  type JsonObject,
  type PublishedTopology,
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

/** Reads a v1 Node. Fields of another type count as missing. */
export function readNode(object: unknown, topology: PublishedTopology | undefined): PublishedNode {
  const { metadata, spec, status } = asObject(object);
  const { allocatable, conditions } = asObject(status);
  const found = asArray(conditions)
    .map(asObject)
    .find(({ type }) => type === CONDITION_TYPE);
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

/** The two kinds of one node: people see what is free now, and Crane's kind decides, since the extender reads it. */
export function joinTopologies(community: PublishedTopology, crane: PublishedTopology): PublishedTopology {
  return { ...community, offer: crane.offer, claims: crane.claims };
}

/**
 * A condition is written at least every five minutes; an older one says nothing of now, but for that of an orderly
 * stop.
 */
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
  if (silentMs > STALE_MS && condition.reason !== STOPPED)
    return { kind: 'silent', because: `cpusetd was last heard of ${Math.round(silentMs / 60_000)} minutes ago` };
  if (condition.status === 'True') return { kind: 'ready', because: '' };
  return { kind: 'not-ready', because: condition.message || condition.reason };
}

/**
 * The reason for which new containers are not pinned on a node, as far as the API server knows; undefined when they
 * are, or that is not known.
 */
export function whyNotPinning(node: PublishedNode, nowMs: number): string | undefined {
  const { kind, because } = stateOf(node, nowMs);
  // With an alarm containers are still pinned, but for what its text says.
  const isMeant = kind === 'silent' || (kind === 'not-ready' && node.condition?.reason !== 'Alarm');
  return isMeant ? because : undefined;
}
