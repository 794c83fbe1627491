import type { CpuSet } from '../../core/cpuset';
import { clamp, idleMilliCpuOf, rateOf } from './growth';
import type { ContainerLabels } from './metrics';
import type { UsageSample } from './sample';

/** The use that a container made of the CPUs that it was promised, between two readings. */
export interface PromisedSetUsage {
  readonly labels: ContainerLabels;
  readonly cpus: CpuSet;
  readonly atMs: number;
  /** CPU time of the container. */
  readonly usedMilliCpu: number;
  /** The same as a part of its CPUs, 0 to 1. */
  readonly usedPart: number;
  /** Idle time of its CPUs, whoever else could have run there; absent when none of them could be read. */
  readonly idleMilliCpu?: number;
  /**
   * The part of the time in which its CFS quota kept it off its CPUs, as a mean over these CPUs, 0 to 1; absent without
   * a quota.
   */
  readonly throttledPart?: number;
  /**
   * Time in each second in which its threads were ready and had no CPU, in ms, summed over the threads; absent when it
   * is not known.
   */
  readonly waitMsPerSecond?: number;
}

export interface OwnersOfSets {
  readonly containers: ReadonlyMap<string, { readonly labels: ContainerLabels; readonly ownCpus?: CpuSet }>;
}

/** One entry for each container with exclusive or immovable CPUs whose CPU time is in both readings. */
export function deriveSetUsage(
  before: UsageSample,
  after: UsageSample,
  { containers }: OwnersOfSets,
): readonly PromisedSetUsage[] {
  const sets: PromisedSetUsage[] = [];
  for (const [id, { labels, ownCpus }] of containers) {
    if (!ownCpus || ownCpus.isEmpty) continue;
    const [then, now] = [before.containers.get(id), after.containers.get(id)];
    if (!then || !now) continue;
    const ns = now.monotonicNs - then.monotonicNs;
    const used = rateOf(then.cpuNs, now.cpuNs, ns);
    if (used === undefined) continue;
    const { size } = ownCpus;
    const idleMilliCpu = idleMilliCpuOf(before, after, ownCpus);
    // The kernel adds up the time of each CPU that the quota was used up on.
    const throttled = rateOf(then.throttledNs, now.throttledNs, ns * size);
    const waitMsPerSecond = rateOf(then.runQueueNs, now.runQueueNs, ns / 1000);
    sets.push({
      labels,
      cpus: ownCpus,
      atMs: after.atMs,
      usedMilliCpu: used * 1000,
      usedPart: clamp(used / size, 0, 1),
      ...(idleMilliCpu !== undefined && { idleMilliCpu }),
      ...(throttled !== undefined && { throttledPart: clamp(throttled, 0, 1) }),
      ...(waitMsPerSecond !== undefined && { waitMsPerSecond }),
    });
  }
  return sets;
}
