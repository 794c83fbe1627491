/**
 * CPU time of a call in ms: the least of some runs, and of this process alone. Other processes on the machine don't count,
 * and a compiler or a collector at work beside one run does not show.
 */
export function leastCpuMs(run: () => unknown, runs = 3): number {
  let least = Infinity;
  for (let i = 0; i < runs; i++) {
    const before = process.cpuUsage();
    run();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1000);
  }
  return least;
}
