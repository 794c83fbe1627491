import { enumerateMasks } from '../hints/providers';
import { mergePreferredHints } from '../hints/merge-hints';
import { maskOfAll, type NodeMask } from '../hints/node-masks';
import type { AssignmentKind } from '../model/assignment';
import { POLICY_TABLE } from '../model/policies';
import { grantOptionsOf, splitRest } from '../policy';
import { sum } from '../sum';
import { CPU } from './amounts';
import { isStrict, settingsOfRules, type NodeRules } from './node-rules';
import type { Obstacle } from './obstacle';
import type { ContainerNeed, PodNeeds } from './pod-needs';

/** The zones with CPUs, in their order, at most as many as a topology manager compares; all counts are whole CPUs. */
export interface ZoneCounts {
  readonly capacity: readonly number[];
  readonly free: readonly number[];
  /** The most that they can give together. */
  readonly bound: number;
}

/**
 * The outcome of a pod's start. `taken`: the CPUs of each zone that its containers have when all have started; absent
 * where a container lies in several zones, since the node then chooses how many of each.
 */
export type Rehearsal =
  | { readonly obstacle: Obstacle; readonly taken?: never }
  | { readonly obstacle?: never; readonly taken?: readonly number[] };

/**
 * Starts the containers of a pod one after the other on counts of free CPUs, as the node would: by the hints of its
 * topology manager (`core/hints`), and by the scheduler's result where there is one (`result`: CPUs by zone), which it
 * follows as far as the topology manager lets it.
 *
 * The counts do not say how a container in several zones is split. From then on each zone is taken to have lost all of
 * it: so what passes is given by the node, and a pod of several containers may be refused that the node would start.
 */
export function rehearse(zones: ZoneCounts, needs: PodNeeds, rules: NodeRules, result?: readonly number[]): Rehearsal {
  const start = new PodStart(zones, needs, rules, result);
  for (const need of needs.containers) {
    const obstacle = start.create(need);
    if (obstacle) return { obstacle };
  }
  const { taken } = start;
  return taken ? { taken } : {};
}

class PodStart {
  private readonly free: number[];
  /** CPUs of init containers that have ended: they stay with the pod. */
  private readonly idle: number[];
  private readonly running: number[];
  /** CPUs that the shared pool can lose. */
  private bound: number;
  private inUse = 0;
  /** CPUs of containers whose zones are not known. */
  private somewhere = 0;
  /** One of these may lie outside the zones that the topology manager names. */
  private strays = false;
  /** CPUs that all containers hold if none takes those of an init container over. */
  private readonly heldAtMost: number;

  constructor(
    private readonly zones: ZoneCounts,
    private readonly needs: PodNeeds,
    private readonly rules: NodeRules,
    private readonly result: readonly number[] | undefined,
  ) {
    const none = (): number[] => zones.free.map(() => 0);
    this.free = [...zones.free];
    [this.idle, this.running] = [none(), none()];
    this.bound = zones.bound;
    this.heldAtMost = sum(needs.containers.map(({ policy, count }) => (isFollower(policy) ? 0 : count)));
  }

  /** Undefined where a container lies in zones that are not known. */
  get taken(): readonly number[] | undefined {
    return this.somewhere > 0 ? undefined : this.running;
  }

  /** The obstacle to a container; undefined when it was started. */
  create(need: ContainerNeed): Obstacle | undefined {
    const { zones, rules, free, inUse } = this;
    if (isFollower(need.policy)) {
      // It gets no CPUs of its own, but as many have to be shared beside all that the pod's other containers may hold.
      const shared = Math.max(0, sum(zones.free) - this.heldAtMost);
      return need.count > shared ? tooLittle(need, { available: shared, container: '' }) : undefined;
    }
    const { leavesPool } = grantOptionsOf(need.policy, settingsOfRules(rules));
    // CPUs of init containers that have ended can be taken by any container of the pod.
    const most = Math.max(0, (leavesPool ? Math.min(sum(zones.free), zones.bound) : sum(zones.free)) - inUse);
    if (need.count > most)
      return tooLittle(need, { container: '', wanted: inUse + need.count, available: inUse + most });
    if (!leavesPool || !isStrict(rules.topologyPolicy)) {
      this.strays = true;
      this.takeSomewhere(need);
      return undefined;
    }
    const parts = this.followResult(need);
    const mask = parts ? maskOf(parts.keys()) : this.choose(need, maskOfAll(free.length));
    if (mask === undefined) return this.explain(need);
    if (parts) {
      this.take(need, parts);
      return undefined;
    }
    const region = withSocket(mask, rules);
    if (region !== mask) this.strays = true;
    const [first, ...others] = nodesOf(region, free.length);
    if (others.length === 0) this.take(need, new Map([[first!, need.count]]));
    else this.takeSomewhere(need);
    return undefined;
  }

  /**
   * The parts of what the pod's other containers leave of the result, where the topology manager accepts these zones.
   */
  private followResult({ count }: ContainerNeed): ReadonlyMap<number, number> | undefined {
    const { result, rules, running } = this;
    if (!result) return undefined;
    const rest = new Map(result.map((cpus, i) => [i, cpus - running[i]!] as const).filter(([, cpus]) => cpus > 0));
    const split = splitRest(rest, count, rules.cpusPerCore);
    if (!split) return undefined;
    const reach = maskOf(rules.topologyScope === 'pod' ? rest.keys() : split.keys());
    const mask = this.choose({ count }, reach);
    if (mask === undefined || (mask & maskOf(split.keys())) !== maskOf(split.keys())) return undefined;
    const isThere = [...split].every(([i, cpus]) => cpus <= Math.min(this.free[i]!, this.bound) + this.idle[i]!);
    const anew = sum([...split].map(([i, cpus]) => Math.max(0, cpus - this.idle[i]!)));
    return isThere && anew <= this.bound ? split : undefined;
  }

  /** The zones that the topology manager names for a request that may take from these; undefined when it refuses it. */
  private choose({ count }: { readonly count: number }, reach: NodeMask): NodeMask | undefined {
    const { idle, running } = this;
    const forPod = this.rules.topologyScope === 'pod';
    // Each container is asked for all CPUs of the pod, those that it has included: the zones of the first one are the
    // answer for the others too, wherever in these it lies.
    if (forPod && this.somewhere > 0) return this.strays ? undefined : reach;
    const inReach = (amounts: readonly number[]): number[] => amounts.map((n, i) => (reach & (1 << i) ? n : 0));
    const held = forPod ? idle.map((n, i) => n + running[i]!) : inReach(idle);
    const { podCount } = this.needs;
    const anew = Math.max(0, count - sum(inReach(idle)));
    const close = this.ask(forPod ? Math.max(podCount, sum(held) + anew) : count, reach, held);
    if (close !== undefined || sum(held) === 0) return close;
    const busy = forPod ? running : running.map(() => 0);
    return this.ask(forPod ? Math.max(podCount, sum(busy) + count) : count, reach, busy);
  }

  /** @param reusable CPUs that the pod has: a choice contains their zones */
  private ask(wanted: number, reach: NodeMask, reusable: readonly number[]): NodeMask | undefined {
    const { capacity } = this.zones;
    const { free, idle, bound, somewhere, rules } = this;
    const { length } = free;
    const usable = free.map((n, i) => (reach & (1 << i) ? Math.max(0, n - somewhere) : 0));
    const had = free.map((_, i) => Math.max(reusable[i]!, reach & (1 << i) ? idle[i]! : 0));
    const [usableOf, most] = [new Float64Array(2 ** length), new Float64Array(2 ** length)];
    const hadOf = new Float64Array(2 ** length);
    for (let mask = 1; mask < most.length; mask++) {
      const [lowest, rest] = [31 - Math.clz32(mask & -mask), mask & (mask - 1)];
      usableOf[mask] = usableOf[rest]! + usable[lowest]!;
      hadOf[mask] = hadOf[rest]! + had[lowest]!;
      most[mask] = Math.min(usableOf[mask]!, bound) + hadOf[mask]!;
    }
    const within = maskOf(reusable.flatMap((n, i) => (n > 0 ? [i] : [])));
    const hints = enumerateMasks({ total: capacity, usable }, wanted, {
      within,
      most,
      ...(rules.sockets && { sockets: rules.sockets }),
    });
    const hint = mergePreferredHints({
      policy: rules.topologyPolicy,
      nodeCount: length,
      providers: [{ [CPU]: hints }],
    });
    return hint && (hint.mask ?? maskOfAll(length));
  }

  private take({ kind, count }: ContainerNeed, parts: ReadonlyMap<number, number>): void {
    const { free, idle, running } = this;
    for (const [i, cpus] of parts) {
      const again = Math.min(cpus, idle[i]!);
      idle[i]! -= again;
      free[i]! -= cpus - again;
      this.bound -= cpus - again;
      if (kind === 'init') idle[i]! += cpus;
      else running[i]! += cpus;
    }
    if (kind !== 'init') this.inUse += count;
  }

  private takeSomewhere(need: ContainerNeed): void {
    const { kind, count } = need;
    if (this.free.length === 1) {
      this.take(need, new Map([[0, count]]));
      return;
    }
    this.somewhere += count;
    this.bound = Math.max(0, this.bound - count);
    if (kind !== 'init') this.inUse += count;
  }

  private explain(need: ContainerNeed): Obstacle {
    const { zones, needs, rules } = this;
    const forPod = rules.topologyScope === 'pod';
    const wanted = forPod ? Math.max(needs.podCount, need.count) : need.count;
    const alone = new PodStart(zones, needs, rules, undefined).choose({ count: wanted }, maskOfAll(zones.free.length));
    if (alone !== undefined) return { kind: 'beside-others', container: need.name, wanted: need.count * 1_000 };
    const fewest = rules.topologyPolicy === 'single-numa-node' ? 1 : countFewest(zones.capacity, wanted);
    const largest = [...zones.free].sort((a, b) => b - a).slice(0, fewest);
    const available = Math.min(sum(largest), zones.bound);
    return tooLittle(need, { container: forPod ? '' : need.name, wanted, available, zones: fewest });
  }
}

/** It has no CPUs of its own, but shares those of its nodes. */
const isFollower = (policy: AssignmentKind): boolean => POLICY_TABLE[policy].claim === 'numa-nodes';

function tooLittle(
  { name, count }: ContainerNeed,
  {
    container = name,
    wanted = count,
    available,
    zones,
  }: {
    readonly container?: string;
    readonly wanted?: number;
    readonly available: number;
    readonly zones?: number;
  },
): Obstacle {
  const figures = { resource: CPU, wanted: wanted * 1_000, available: available * 1_000 };
  return { kind: 'too-little', container, ...figures, ...(zones !== undefined && { zones }) };
}

/** The smallest number of these amounts whose sum is enough. */
export function countFewest(amounts: readonly number[], wanted: number): number {
  let [count, total] = [0, 0];
  for (const amount of [...amounts].sort((a, b) => b - a)) {
    if (total >= wanted) break;
    total += amount;
    count++;
  }
  return Math.max(1, count);
}

/** With `align-by-socket` the CPUs are of the sockets of these nodes. */
function withSocket(mask: NodeMask, { sockets }: NodeRules): NodeMask {
  if (!sockets) return mask;
  const { socketsOf } = sockets;
  const chosen = nodesOf(mask, socketsOf.length).reduce((all, i) => all | socketsOf[i]!, 0);
  return maskOf(socketsOf.flatMap((mask, i) => ((mask & chosen) === 0 ? [] : [i])));
}

function maskOf(nodes: Iterable<number>): NodeMask {
  let mask = 0;
  for (const node of nodes) mask |= 1 << node;
  return mask;
}

function nodesOf(mask: NodeMask, count: number): number[] {
  return Array.from({ length: count }, (_, i) => i).filter((i) => mask & (1 << i));
}
