/**
 * Milliseconds of processor time that the work takes: the least of several tries, since the first ones are slow, and others use
 * the machine too. `prepare` is not counted.
 */
export function leastCpuMs<T>(prepare: () => T, work: (prepared: T) => void, tries = 7): number {
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
