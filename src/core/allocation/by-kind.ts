import { compareBy } from '../compare-by';
import { CpuSet } from '../cpuset';
import type { Topology } from '../topology';

/**
 * The CPUs among which `count` are to be chosen, in the order in which to try: those of each kind of cores that has
 * this number, so that no container runs on fast and slow cores together, and at last all. A kind of which the pod
 * holds more CPUs goes first, then the faster one. One set on a machine with one kind of cores.
 */
export function listByKind(
  { coreKinds }: Topology,
  available: CpuSet,
  count: number,
  held: CpuSet = CpuSet.empty,
): readonly CpuSet[] {
  if (coreKinds.length === 0) return [available];
  const kinds = coreKinds
    .map(({ cpus }, i) => ({ cpus: cpus.intersect(available), i }))
    .filter(({ cpus }) => cpus.size >= count)
    .sort(
      compareBy(
        ({ cpus }) => -cpus.countIn(held),
        ({ i }) => i,
      ),
    );
  return [...kinds.map(({ cpus }) => cpus), available];
}

/** The CPUs to reserve are those of the slowest kind, then of the next: a list of parts of the request, in order. */
export function splitFromSlowest(
  { coreKinds }: Topology,
  available: CpuSet,
  count: number,
): readonly { readonly available: CpuSet; readonly count: number }[] {
  if (coreKinds.length === 0) return [{ available, count }];
  const parts: { readonly available: CpuSet; readonly count: number }[] = [];
  let missing = count;
  for (const kind of [...coreKinds].reverse()) {
    const cpus = kind.cpus.intersect(available);
    const taken = Math.min(missing, cpus.size);
    if (taken > 0) parts.push({ available: cpus, count: taken });
    missing -= taken;
  }
  return missing > 0 ? [{ available, count }] : parts;
}
