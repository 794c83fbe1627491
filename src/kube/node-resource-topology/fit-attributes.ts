import type { NodeRules, NodeOffer, ZoneRoom } from '../../core/fit';
import { parseLeaveAloneRule } from '../../core/model/leave-alone-rule';
import { isPolicyName } from '../../core/model/policies';
import type { TopologyManagerPolicy } from '../../core/model/settings';
import { oncePerText } from '../../core/once-per';
import type { Bound, NodeResources, Zone } from '../../core/node-resources/node-resources';
import { asArray, asObject, asString, type JsonObject } from '../json';

// All that decides whether a pod fits on a node, beside its zones: two attributes of a NodeResourceTopology, of both
// kinds, each as JSON. One has the rules, which seldom change, the other the CPUs. Only cpusetd reads them
// (`core/fit`).

export const RULES_ATTRIBUTE = 'cpusetd.io/rules';
export const ROOM_ATTRIBUTE = 'cpusetd.io/room';

/** Grows with a change that an earlier reader would take for something else. */
const VERSION = 1;
const MAX_LENGTH = 16 * 1024;
const MAX_RULES = 256;
/** More NUMA nodes and sockets than any machine has. */
const MAX_ZONES = 256;
const MAX_SOCKETS = 30;

/**
 * `{"v":1,"policy":"static","cpusPerCore":2,"topologyManager":"restricted","scope":"pod"}`; what is at its default is
 * left out.
 */
export function formatRules(rules: NodeRules): string {
  const { policy, podPolicies, cpusPerCore, topologyPolicy, topologyScope, sockets, shares, leaveAlone, podLeaveAlone } = rules; // prettier-ignore
  const text = (rulesOfOperator: readonly string[]): string =>
    JSON.stringify({
      v: VERSION,
      policy,
      ...(podPolicies.length > 0 && { podPolicies }),
      ...(cpusPerCore > 1 && { cpusPerCore }),
      ...(topologyPolicy !== 'none' && { topologyManager: topologyPolicy, scope: topologyScope }),
      ...(sockets && { sockets: sockets.socketsOf, nodesPerSocket: sockets.nodesPerSocket }),
      ...(shares && { shares }),
      ...(rulesOfOperator.length > 0 && { leaveAlone: rulesOfOperator }),
      ...(podLeaveAlone && { podLeaveAlone }),
    });
  const whole = text(leaveAlone.slice(0, MAX_RULES).map((rule) => rule.text));
  // Without them a pod that is left alone counts as one that gets CPUs: it may wait for a node, and is never given too
  // much.
  return whole.length <= MAX_LENGTH ? whole : text([]);
}

/**
 * The rules; `unreadable` for those of a newer version, and for a text that is none. The same object for the same text:
 * thousands of nodes have the same few texts, and what follows from rules is remembered for their object.
 */
export const parseRules: (text: string) => NodeRules | 'unreadable' = oncePerText(readRules, 1_024);

function readRules(text: string): NodeRules | 'unreadable' {
  const { v, policy, podPolicies, cpusPerCore, topologyManager, scope, sockets, nodesPerSocket, ...others } = parseJson(text); // prettier-ignore
  if (v !== VERSION || typeof policy !== 'string' || !isPolicyName(policy)) return 'unreadable';
  const topologyPolicy = topologyManager === undefined ? 'none' : toTopologyPolicy(topologyManager);
  if (topologyPolicy === undefined) return 'unreadable';
  const socketsOf = asArray(sockets).slice(0, MAX_ZONES).map(toCount);
  const isAligned = socketsOf.length > 0 && socketsOf.every((mask) => mask < 2 ** MAX_SOCKETS);
  return {
    policy,
    podPolicies: asArray(podPolicies).map(asString).filter(isPolicyName),
    cpusPerCore: Math.max(1, toCount(cpusPerCore)),
    topologyPolicy,
    topologyScope: scope === 'pod' ? 'pod' : 'container',
    ...(isAligned && { sockets: { socketsOf, nodesPerSocket: Math.max(1, toCount(nodesPerSocket)) } }),
    shares: others['shares'] === true,
    leaveAlone: asArray(others['leaveAlone'])
      .slice(0, MAX_RULES)
      .flatMap((rule) => parseLeaveAloneRule(asString(rule)) ?? []),
    podLeaveAlone: others['podLeaveAlone'] === true,
  };
}

const TOPOLOGY_POLICIES: readonly TopologyManagerPolicy[] = ['none', 'best-effort', 'restricted', 'single-numa-node'];

/** Undefined for a name that is none. */
export function toTopologyPolicy(name: unknown): TopologyManagerPolicy | undefined {
  return TOPOLOGY_POLICIES.find((known) => known === name);
}

/**
 * The CPUs that can be given, of each zone by its NUMA node and of all together: `now`, or for schedulers that subtract
 * results.
 */
export function formatRoom({ zones, bound, rules }: NodeResources, by: keyof Bound): string {
  const roomOf = ({ room, roomWithResults }: Zone) => (by === 'now' ? room : roomWithResults);
  const counts = (part: 'cpus' | 'whole') => Object.fromEntries(zones.slice(0, MAX_ZONES).map((zone) => [zone.id, roomOf(zone)[part]])); // prettier-ignore
  return JSON.stringify({
    cpus: counts('cpus'),
    ...(rules.cpusPerCore > 1 && { whole: counts('whole') }),
    bound: bound[by],
  });
}

/** CPU in thousandths. */
export interface PublishedRoom extends Pick<NodeOffer, 'bound'> {
  /** The room of a zone, by the NUMA node at the end of its name. */
  readonly roomOf: (zone: string) => ZoneRoom;
}

/**
 * Undefined for a text that is none. A zone that is not named has no room, and none has more in whole cores than in
 * all.
 */
export function parseRoom(text: string | undefined): PublishedRoom | undefined {
  if (text === undefined) return undefined;
  const { cpus, whole, bound } = parseJson(text);
  if (typeof bound !== 'number') return undefined;
  const read = (counts: unknown, zone: string): number => {
    const node = /(\d{1,9})$/.exec(zone)?.[1] ?? '';
    const ofZone = asObject(counts);
    return Object.hasOwn(ofZone, node) ? 1_000 * toCount(ofZone[node]) : 0;
  };
  return {
    bound: 1_000 * toCount(bound),
    roomOf: (zone) => {
      const cpu = read(cpus, zone);
      return { cpu, whole: Math.min(cpu, read(whole ?? cpus, zone)) };
    },
  };
}

function parseJson(text: string): JsonObject {
  if (text.length > MAX_LENGTH) return {};
  try {
    return asObject(JSON.parse(text));
  } catch {
    return {};
  }
}

function toCount(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : 0;
}
