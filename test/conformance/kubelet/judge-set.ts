import { composeCores } from '../../../src/core/allocation';
import { type CpuSet, parseCpuList } from '../../../src/core/cpuset';
import type { StaticPolicyOptions } from '../../../src/core/model/settings';
import { coresBySize, hasUnlikeCores, keepWholeCores, type Topology, type Unit } from '../../../src/core/topology';
import type { Kind } from './kinds';
import { isRegular } from './machines';

/** A request that both sides answer in their own way. */
export interface SetDifference {
  readonly topology: Topology;
  readonly options: StaticPolicyOptions;
  readonly available: CpuSet;
  readonly count: number;
  /** The CPU lists of both sides; undefined = refused. */
  readonly kubelet: string | undefined;
  readonly here: string | undefined;
  /** The CPUs are reserved, and may be single threads of cores. */
  readonly isReservation?: true;
  /** The kubelet never answers. */
  readonly isUnanswered: boolean;
  /** Asks the repaired kubelet for the same, of other available CPUs. */
  readonly askRepaired: (available: CpuSet) => Promise<string | undefined>;
}

/**
 * The kind of a difference between two sets, or between a set and a refusal. Each is proved: by asking the kubelet with
 * its comparisons repaired, or by looking at the sets.
 */
export async function judgeSet(difference: SetDifference): Promise<Kind | 'unknown'> {
  const { topology, options, available, count, here, isReservation, isUnanswered, askRepaired } = difference;
  const ours = here === undefined ? undefined : parseCpuList(here);
  if (ours && !isPossible(difference, here)) return 'unknown';
  if (!ours && options.strictCpuReservation && available.size === count) return 'empty-pool';
  const repaired = await askRepaired(available);
  if (!isPossible(difference, repaired)) return 'unknown';
  if (isUnanswered) {
    const rest = await judgeSet({ ...difference, kubelet: repaired, isUnanswered: false });
    return repaired !== here && rest === 'unknown' ? 'unknown' : 'never-answers';
  }
  const isSound = isPossible(difference, difference.kubelet);
  if (repaired === here) {
    if (!isSound) return 'busy-cpus';
    return isRegular(topology) ? 'lost-combination' : 'mean-sizes';
  }
  const theirs = isSound ? difference.kubelet : repaired;
  if (!options.fullPcpusOnly) return judgeUnits(difference, theirs, repaired);
  if (isReservation) return hasUnlikeCores(topology) ? 'unlike-cores' : judgeUnits(difference, theirs, repaired);
  return judgeWholeCores(difference, theirs);
}

/** A refusal, or so many of the available CPUs. */
function isPossible({ available, count }: SetDifference, list: string | undefined): boolean {
  if (list === undefined) return true;
  const cpus = parseCpuList(list);
  return cpus.size === count && cpus.isSubsetOf(available);
}

/** full-pcpus-only: cpusetd gives whole cores, or there are none that have so many CPUs. */
async function judgeWholeCores(difference: SetDifference, theirs: string | undefined): Promise<Kind | 'unknown'> {
  const { topology, available, count, here, askRepaired } = difference;
  const whole = keepWholeCores(topology, available);
  const isWhole = (list: string): boolean => parseCpuList(list).equals(keepWholeCores(topology, parseCpuList(list)));
  if (here !== undefined && !isWhole(here)) return 'unknown';
  if (here === undefined && composeCores(count, coresBySize(topology, whole)) !== undefined) return 'unknown';
  if (theirs !== undefined && !isWhole(theirs)) return 'split-cores';
  if (hasUnlikeCores(topology)) return 'unlike-cores';
  const amongWhole = await askRepaired(whole);
  return amongWhole === here ? 'loose-threads' : judgeUnits(difference, theirs, amongWhole);
}

/** cpusetd uses fewer units than the repaired kubelet, and no more than the kubelet as it is. */
function judgeUnits(
  { topology, options, here }: SetDifference,
  theirs: string | undefined,
  repaired: string | undefined,
): Kind | 'unknown' {
  if (here === undefined || theirs === undefined || repaired === undefined) return 'unknown';
  const fewer = (units: readonly Unit[]): boolean => {
    const [ours, ...others] = [here, theirs, repaired].map((list) => countUnits(units, parseCpuList(list)));
    return ours! <= others[0]! && ours! < others[1]!;
  };
  if (options.preferAlignCpusByUncorecache && fewer(topology.uncoreCaches)) return 'fewer-caches';
  if (options.distributeCpusAcrossNuma && fewer(topology.numaNodes)) return 'fewer-nodes';
  return 'unknown';
}

const countUnits = (units: readonly Unit[], cpus: CpuSet): number =>
  units.filter((unit) => unit.cpus.overlaps(cpus)).length;

/**
 * On cores of unlike sizes, nodes whose whole cores can't have just so many CPUs are left out: the hints here are some
 * of the kubelet's.
 */
export function judgeHints(
  { topology, options }: Pick<SetDifference, 'topology' | 'options'>,
  kubelet: readonly string[],
  here: readonly string[],
): Kind | 'unknown' {
  const isPart = here.every((hint) => kubelet.includes(hint));
  return options.fullPcpusOnly && hasUnlikeCores(topology) && isPart ? 'unlike-cores' : 'unknown';
}
