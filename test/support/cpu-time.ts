/**
 * Milliseconds of CPU time that the reference work takes on the machine that the limits in tests were written for.
 * Limits are fixed times; processors are not equally fast, and one is slower while another process runs on its other
 * thread.
 */
const REFERENCE_MS = 5;

/**
 * Milliseconds of CPU time that the work takes on the machine that limits were written for: the least of several tries,
 * since the first ones are slow, and V8 may compile or collect garbage during one. On a slower machine, found by a
 * reference work before each try, the time is reduced in proportion. Other processes do not count. `prepare` is not
 * counted.
 *
 * @param limitMs the limit that the caller checks: no try is made after one that is below it
 */
export function leastCpuMsOf<T>(
  prepare: () => T,
  work: (prepared: T) => void,
  { tries = 7, limitMs = 0 }: Tries = {},
): number {
  const least = new LeastTime();
  for (let i = 0; i < tries && least.ms >= limitMs; i++) {
    const prepared = prepare();
    least.beginTry();
    least.endTry(cpuMsOf(() => work(prepared)));
  }
  return least.ms;
}

export interface Tries {
  readonly tries?: number;
  readonly limitMs?: number;
}

class LeastTime {
  private least = Infinity;
  private reference = Infinity;

  get ms(): number {
    return this.least === Infinity ? Infinity : this.least * Math.min(1, REFERENCE_MS / this.reference);
  }

  beginTry(): void {
    this.reference = Math.min(this.reference, cpuMsOf(referenceWork));
  }

  endTry(ms: number): void {
    this.least = Math.min(this.least, ms);
  }
}

/** The same for work that needs no preparation. */
export function leastCpuMs(work: () => unknown, { tries = 3, limitMs = 0 }: Tries = {}): number {
  return leastCpuMsOf(() => undefined, work, { tries, limitMs });
}

/** The same for work that waits in between. Whatever else this process does meanwhile counts too. */
export async function leastCpuMsOfAsync(
  work: () => Promise<unknown>,
  { tries = 3, limitMs = 0 }: Tries = {},
): Promise<number> {
  const least = new LeastTime();
  for (let i = 0; i < tries && least.ms >= limitMs; i++) {
    least.beginTry();
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    least.endTry((user + system) / 1000);
  }
  return least.ms;
}

/** Milliseconds of CPU time of this process. */
function cpuMsOf(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** The same kind of work as the measured ones: objects and texts are made, serialized, parsed, looked up and sorted. */
function referenceWork(): void {
  const objects: Record<string, unknown> = {};
  for (let i = 0; i < 3000; i++) objects[`key-${i}/x`] = { a: i, b: `v${i}`, c: [i, i + 1] };
  const parsed = JSON.parse(JSON.stringify(objects)) as typeof objects;
  const names = [...new Map(Object.entries(parsed)).keys()].sort();
  if (names.length !== 3000) throw new Error('the reference work is wrong');
}

// The first runs are slow: V8 interprets them. They must not make the machine look slow.
for (let i = 0; i < 5; i++) referenceWork();
