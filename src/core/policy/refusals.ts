import { leastLeftIn } from './left-to-followers';
import type { Room } from './room';
import type { Decision, Snapshot } from './policy';
import { countCpus, type GrantOptions } from './grant-options';
import { partWithVerb, plural } from '../text';
import { describeBarred, barredCpus, threadsPerCore } from '../topology';

/** full-pcpus-only, and the cores that can be given now are of the wrong sizes. */
export function noWholeCores(count: number): string {
  return `no whole cores that can be given now have just ${plural(count, 'CPU')} together`;
}

/** full-pcpus-only, and the request would leave half a core. */
export function refuseSplitCores({ topology }: Snapshot, count: number): Decision {
  const threads = threadsPerCore(topology);
  return {
    kind: 'refuse',
    code: 'FAILED_PRECONDITION',
    because: `asked for ${plural(count, 'exclusive CPU')}; full-pcpus-only gives whole cores of ${threads} CPUs: ask for a multiple of ${threads}`,
  };
}

/** Not enough CPUs. The text is shown in the pod's events, so it has no names of other pods. */
export function refuseForLack(
  snapshot: Snapshot,
  grant: GrantOptions,
  count: number,
  { most, room }: { readonly most: number; readonly room: Room },
): Decision {
  const { topology, settings, free, sharedPool } = snapshot;
  const { options, leavesPool } = grant;
  const reserved = topology.online.countIn(settings.reserved);
  const allocatable = topology.online.size - reserved;
  const reasons = [
    ...(options.fullPcpusOnly && room.cpus.size < free.size
      ? ['full-pcpus-only counts only cores that are free as a whole']
      : []),
    ...(leavesPool && sharedPool.size - free.size < settings.minSharedCpus
      ? [`the shared pool keeps at least ${settings.minSharedCpus}`]
      : []),
    ...(!leastLeftIn(room).isEmpty ? ['containers that share the CPUs of a NUMA node keep at least one there'] : []),
    ...(topology.confinement ? [describeBarred(topology.confinement, barredCpus(topology))] : []),
  ];
  return {
    kind: 'refuse',
    code: 'RESOURCE_EXHAUSTED',
    because:
      `asked for ${countCpus(grant, count)}, ${most} can be given now: ${partWithVerb(free.size, allocatable, 'allocatable CPU')} free, ` +
      `${partWithVerb(reserved, topology.online.size, `${topology.confinement ? 'usable' : 'online'} CPU`)} reserved` +
      (reasons.length > 0 ? ` (${reasons.join('; ')})` : ''),
  };
}
