import { CpuSet } from '../cpuset';
import type { StaticPolicyOptions } from '../model/settings';
import type { Topology } from '../topology';
import { allocateByOptions } from './allocate';
import { splitFromSlowest } from './by-kind';
import { plural } from '../text';

export type ReservedCpus =
  | { readonly ok: true; readonly reserved: CpuSet }
  /** Names the input, the rule and the remedy. */
  | { readonly ok: false; readonly error: string };

/**
 * The CPUs to keep for the system: those that the operator lists, or as many as he wants, chosen on the empty machine
 * by the options of the policy, on the slowest kind of cores. A list that comes with a count must have that size.
 */
export function chooseReserved(
  topology: Topology,
  options: StaticPolicyOptions,
  wanted: { readonly count: number; readonly list?: CpuSet } | { readonly list: CpuSet },
): ReservedCpus {
  const { list } = wanted;
  const count = 'count' in wanted ? wanted.count : undefined;
  const online = topology.online.size;
  if (list && !list.isEmpty) {
    const missing = list.minus(topology.online);
    if (!missing.isEmpty) {
      return fail(
        `reserved CPUs ${list.toString()}: ${missing.toString()} not online (online are ${topology.online.toString()}); reserve online CPUs`,
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
  let reserved = CpuSet.empty;
  for (const part of splitFromSlowest(topology, count)) {
    const taken = allocateByOptions(topology, options, part.available, part.count);
    if (!taken.ok)
      return fail(
        `${plural(count, 'CPU is', 'CPUs are')} to be reserved, but only ${online} ${online === 1 ? 'is' : 'are'} online; reserve fewer`,
      );
    reserved = reserved.union(taken.cpus);
  }
  return { ok: true, reserved };
}

function fail(error: string): ReservedCpus {
  return { ok: false, error };
}
