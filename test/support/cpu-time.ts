/**
 * Milliseconds of CPU time that the work takes: the least of several tries, since the first ones are slow, and V8 may compile or
 * collect garbage during one. Other processes on the machine do not count. `prepare` is not counted.
 */
export function leastCpuMsOf<T>(prepare: () => T, work: (prepared: T) => void, tries = 7): number {
  let least = Infinity;
  for (let i = 0; i < tries; i++) {
    const prepared = prepare();
    const before = process.cpuUsage();
    work(prepared);
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1000);
  }
  return least;
}

/** The same for work that needs no preparation. */
export function leastCpuMs(work: () => unknown, tries = 3): number {
  return leastCpuMsOf(() => undefined, work, tries);
}
