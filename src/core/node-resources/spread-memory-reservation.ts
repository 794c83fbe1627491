/**
 * Bytes of the memory reservation that fall on each NUMA node, by its id. The node with the lowest id gives first, as
 * Crane's agent counts; what it does not have is taken from the next. A reservation larger than all memory takes all of
 * it. Pure.
 */
export function spreadMemoryReservation(
  memoryBytesByNode: ReadonlyMap<number, number>,
  reservedBytes: number,
): ReadonlyMap<number, number> {
  let rest = Math.max(0, reservedBytes);
  return new Map(
    [...memoryBytesByNode]
      .sort(([a], [b]) => a - b)
      .map(([id, bytes]) => {
        const share = Math.min(rest, bytes);
        rest -= share;
        return [id, share];
      }),
  );
}
