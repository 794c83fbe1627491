import { composeCores } from '../../../src/core/allocation';
import { type CpuSet, parseCpuList } from '../../../src/core/cpuset';
import type { StaticPolicyOptions } from '../../../src/core/model/settings';
import { coresBySize, hasUnlikeCores, keepWholeCores, type Topology, type Unit } from '../../../src/core/topology';
import { isRegular } from './machines';

export type Kind = string;

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

export async function judgeSet(difference: SetDifference): Promise<Kind | 'unknown'> {
  const { topology, options, available, count, here, isReservation, askRepaired } = difference;
  const ours = here === undefined ? undefined : parseCpuList(here);
  if (ours && (ours.size !== count || !ours.isSubsetOf(available))) return 'unknown';
  if (!ours && options.strictCpuReservation && available.size === count) return 'empty-pool';
  const isTrue = (list: string | undefined): boolean =>
    list === undefined || (parseCpuList(list).size === count && parseCpuList(list).isSubsetOf(available));
  const repaired = await askRepaired(available);
  if (!isTrue(repaired)) return 'unknown';
  const theirs = isTrue(difference.kubelet) ? difference.kubelet : repaired;
  if (repaired === here) {
    if (difference.isUnanswered) return 'never-answers';
    if (!isTrue(difference.kubelet)) return 'busy-cpus';
    return isRegular(topology) ? 'lost-combination' : 'mean-sizes';
  }
  if (options.fullPcpusOnly && isReservation && hasUnlikeCores(topology)) return 'unlike-cores';
  if (options.fullPcpusOnly && !isReservation) {
    const whole = keepWholeCores(topology, available);
    const isWhole = (cpus: CpuSet): boolean => keepWholeCores(topology, cpus).equals(cpus);
    if (ours && !isWhole(ours)) return 'unknown';
    if (!ours && composeCores(count, coresBySize(topology, whole)) !== undefined) return 'unknown';
    if (theirs !== undefined && !isWhole(parseCpuList(theirs))) return 'split-cores';
    if (hasUnlikeCores(topology)) return 'unlike-cores';
    if (ours && (await askRepaired(whole)) === here) return 'loose-threads';
  }
  if (!ours || theirs === undefined || repaired === undefined) return 'unknown';
  const fewer = (units: readonly Unit[]): boolean =>
    countUnits(units, ours) <= countUnits(units, parseCpuList(theirs)) &&
    countUnits(units, ours) < countUnits(units, parseCpuList(repaired));
  if (options.preferAlignCpusByUncorecache && fewer(topology.uncoreCaches)) return 'fewer-caches';
  if (options.distributeCpusAcrossNuma && fewer(topology.numaNodes)) return 'fewer-nodes';
  return 'unknown';
}

const countUnits = (units: readonly Unit[], cpus: CpuSet): number =>
  units.filter((unit) => unit.cpus.overlaps(cpus)).length;

/** On cores of unlike sizes, nodes whose whole cores can't have just so many CPUs are left out: the hints here are some of the kubelet's. */
export function judgeHints(
  { topology, options }: Pick<SetDifference, 'topology' | 'options'>,
  kubelet: readonly string[],
  here: readonly string[],
): Kind | 'unknown' {
  const isPart = here.every((hint) => kubelet.includes(hint));
  return options.fullPcpusOnly && hasUnlikeCores(topology) && isPart ? 'unlike-cores' : 'unknown';
}
