import { threadsPerCore } from '../allocation';
import type { Decision, Snapshot } from './policy';

/** full-pcpus-only, and the request would leave half a core. */
export function refuseSplitCores({ topology }: Snapshot, count: number): Decision {
  const threads = threadsPerCore(topology);
  return {
    kind: 'refuse',
    code: 'FAILED_PRECONDITION',
    because: `asked for ${count} exclusive CPUs; full-pcpus-only gives whole cores of ${threads} CPUs: ask for a multiple of ${threads}`,
  };
}

/** Not enough CPUs. The text ends in the pod's events: numbers and rules, no names of other pods. */
export function refuseForLack(
  { topology, settings, free, sharedPool }: Snapshot,
  count: number,
  usable: number,
): Decision {
  const allocatable = topology.online.minus(settings.reserved).size;
  const { fullPcpusOnly } = settings.options;
  const reasons = [
    ...(fullPcpusOnly && usable < free.size ? ['full-pcpus-only counts only cores that are free as a whole'] : []),
    ...(sharedPool.size - free.size < settings.minSharedCpus
      ? [`the shared pool keeps at least ${settings.minSharedCpus}`]
      : []),
  ];
  return {
    kind: 'refuse',
    code: 'RESOURCE_EXHAUSTED',
    because:
      `asked for ${count} exclusive CPUs, ${usable} can be given now: ${free.size} of ${allocatable} allocatable CPUs ` +
      `are free, ${settings.reserved.size} of ${topology.online.size} online are reserved` +
      (reasons.length > 0 ? ` (${reasons.join('; ')})` : ''),
  };
}
