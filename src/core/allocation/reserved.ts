import { CpuSet } from '../cpuset';
import type { StaticPolicyOptions } from '../model/settings';
import { machineOf, type Topology } from '../topology';
import { allocateByOptions } from './allocate';
import { splitFromSlowest } from './by-kind';
import { isOrAre, plural } from '../text';

export type ReservedCpus =
  | { readonly ok: true; readonly reserved: CpuSet }
  /** Names the input, the rule and the remedy. */
  | { readonly ok: false; readonly error: string };

/** A reservation that is in force while another is wanted. */
export interface Held {
  readonly reserved: CpuSet;
  /** CPUs that are known to the topology and not online now. */
  readonly offline: CpuSet;
}

/**
 * The CPUs to keep for the system: those that the operator lists, or as many as he wants, chosen on the empty machine
 * by the options of the policy, on the slowest kind of cores. A list that comes with a count must have that size. CPUs
 * of a list may be out of this node's bounds: these change.
 *
 * `held`: of the CPUs that are reserved already as many stay as the number allows, and the others are chosen beside
 * them. CPUs that are offline count as those of the machine: they come back.
 */
export function chooseReserved(
  topology: Topology,
  options: StaticPolicyOptions,
  wanted: { readonly count: number; readonly list?: CpuSet } | { readonly list: CpuSet },
  held?: Held,
): ReservedCpus {
  const { list } = wanted;
  const count = 'count' in wanted ? wanted.count : undefined;
  const all = machineOf(topology).online;
  const online = all.minus(held?.offline ?? CpuSet.empty);
  const beside = online.equals(all) ? '' : `, ${all.minus(online).toString()} offline`;
  if (list && !list.isEmpty) {
    const missing = list.minus(all);
    if (!missing.isEmpty) {
      return fail(
        `reserved CPUs ${list.toString()}: ${missing.toString()} not online (online are ${online.toString()}${beside}); reserve online CPUs`,
      );
    }
    if (count !== undefined && list.size !== count) {
      return fail(
        `reserved CPUs ${list.toString()} are ${list.size}, but ${count} are to be reserved; make both the same`,
      );
    }
    return { ok: true, reserved: list };
  }
  if (count === undefined || count < 1) {
    return fail('no CPU is reserved; the static policy needs at least one for the system, reserve it');
  }
  const kept = held?.reserved.intersect(all) ?? CpuSet.empty;
  // A confined node keeps what it has for the system: the cgroups may give it more later.
  const fitting = count <= all.size ? Math.min(count, topology.online.union(kept).size) : count;
  const anew = choose(topology, options, topology.online, Math.min(fitting, topology.online.size));
  const reserved = anew && keep(topology, options, { anew, kept, count: fitting });
  if (reserved) return { ok: true, reserved };
  return fail(
    `${plural(count, 'CPU is', 'CPUs are')} to be reserved, but only ${online.size} ${isOrAre(online.size)} online${beside}; reserve fewer`,
  );
}

/** Undefined when there are fewer. */
function choose(
  topology: Topology,
  options: StaticPolicyOptions,
  available: CpuSet,
  count: number,
): CpuSet | undefined {
  let chosen = CpuSet.empty;
  for (const part of splitFromSlowest(topology, available, count)) {
    const taken = allocateByOptions(topology, options, part.available, part.count);
    if (!taken.ok) return undefined;
    chosen = chosen.union(taken.cpus);
  }
  return chosen;
}

/** The new choice where it only adds to the CPUs that are reserved or takes some away, else the nearest that does. */
function keep(
  topology: Topology,
  options: StaticPolicyOptions,
  { anew, kept, count }: { readonly anew: CpuSet; readonly kept: CpuSet; readonly count: number },
): CpuSet | undefined {
  if (anew.size === count && (kept.isSubsetOf(anew) || anew.isSubsetOf(kept))) return anew;
  if (kept.size < count) return choose(topology, options, topology.online.minus(kept), count - kept.size)?.union(kept);
  // Those that are out of bounds go first.
  const usable = kept.intersect(topology.online);
  if (usable.size >= count) return choose(topology, options, usable, count);
  return usable.union(CpuSet.of([...kept.minus(usable)].slice(0, count - usable.size)));
}

function fail(error: string): ReservedCpus {
  return { ok: false, error };
}
