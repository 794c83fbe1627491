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

/**
 * The CPUs to keep for the system: those that the operator lists, or as many as he wants, chosen on the empty machine
 * by the options of the policy, on the slowest kind of cores. A list that comes with a count must have that size. CPUs of a list may be out of
 * this node's bounds: these change.
 */
export function chooseReserved(
  topology: Topology,
  options: StaticPolicyOptions,
  wanted: { readonly count: number; readonly list?: CpuSet } | { readonly list: CpuSet },
): ReservedCpus {
  const { list } = wanted;
  const count = 'count' in wanted ? wanted.count : undefined;
  if (list && !list.isEmpty) {
    const { online } = machineOf(topology);
    const missing = list.minus(online);
    if (!missing.isEmpty) {
      return fail(
        `reserved CPUs ${list.toString()}: ${missing.toString()} not online (online are ${online.toString()}); reserve online CPUs`,
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
  const { size } = machineOf(topology).online;
  // A confined node keeps what it has for the system: the cgroups may give it more later.
  const fitting = count <= size ? Math.min(count, topology.online.size) : count;
  let reserved = CpuSet.empty;
  for (const part of splitFromSlowest(topology, topology.online, fitting)) {
    const taken = allocateByOptions(topology, options, part.available, part.count);
    if (!taken.ok)
      return fail(
        `${plural(count, 'CPU is', 'CPUs are')} to be reserved, but only ${size} ${isOrAre(size)} online; reserve fewer`,
      );
    reserved = reserved.union(taken.cpus);
  }
  return { ok: true, reserved };
}

function fail(error: string): ReservedCpus {
  return { ok: false, error };
}
