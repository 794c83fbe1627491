import type { RunningContainer } from '../../e2e/rig/container';

const everyMs = 50;

/**
 * Reads the CPUs of a container again and again while something is done: its cpuset, its effective cpuset and the masks
 * of its processes.
 * @returns each value that was seen, once, and the number of samples
 */
export async function sampleCpus(
  container: RunningContainer,
  work: () => Promise<void>,
): Promise<{ readonly seen: readonly string[]; readonly samples: number }> {
  const seen = new Set<string>();
  let samples = 0;
  const sample = (): void => {
    samples += 1;
    try {
      const { cpus, effectiveCpus } = container.cpuset();
      for (const list of [cpus, effectiveCpus, ...container.masks()]) seen.add(list);
    } catch (error) {
      seen.add(String(error));
    }
  };
  const timer = setInterval(sample, everyMs);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  sample();
  return { seen: [...seen], samples };
}
