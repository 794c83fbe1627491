import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { inspect } from 'node:util';

/** The deadline of all waits in tests, on a machine that has nothing else to do. It is far above the usual time. */
export const patienceMs = Number(process.env['CPUSETD_TEST_PATIENCE_MS'] ?? 60_000);

/**
 * Returns the number of programs that wait for each CPU of this machine, at least 1. Every deadline of a wait is longer
 * by it: on a busy machine the same work takes longer, and that is no fault.
 */
export function slowness(): number {
  const [lastMinute = '', , , now = ''] = readFileSync('/proc/loadavg', 'utf8').split(' ');
  return Math.max(1, Math.ceil(Math.max(Number(lastMinute), parseInt(now, 10)) / availableParallelism()));
}

/** Returns the time by which a call of a test has to be answered: it ends those that hang. */
export function callDeadline(): number {
  return Date.now() + patienceMs * slowness();
}

/**
 * Asks again and again until the answer is not undefined. It is for states that no event announces. `false` would be an
 * answer: see waitUntil.
 */
export async function poll<T extends object | string | number | bigint | true>(
  what: string,
  ask: () => T | undefined | Promise<T | undefined>,
  deadlineMs = patienceMs,
  everyMs = 5,
): Promise<T> {
  let found: T | undefined;
  const isThere = async (): Promise<boolean> => (found = await ask()) !== undefined;
  await waitUntil(what, isThere, deadlineMs, { everyMs });
  return found!;
}

type Condition = () => boolean | Promise<boolean>;

/** `seen` gives the value that the error shows as the last one seen. */
interface WaitOptions {
  readonly everyMs?: number;
  readonly seen?: () => unknown;
}

/**
 * Asks again and again until the condition holds. Without a description the condition's own text describes it.
 *
 * @throws after the deadline; the error has the description and, with `seen`, the last value
 */
export async function waitUntil(condition: Condition, deadlineMs?: number): Promise<void>;
export async function waitUntil(
  what: string,
  condition: Condition,
  deadlineMs?: number,
  options?: WaitOptions,
): Promise<void>;
export async function waitUntil(
  first: string | Condition,
  second?: Condition | number,
  third?: number,
  { everyMs = 5, seen }: WaitOptions = {},
): Promise<void> {
  const [what, condition, deadlineMs = patienceMs] =
    typeof first === 'string'
      ? [first, second as Condition, third]
      : [first.toString(), first, second as number | undefined];
  const begunMs = performance.now();
  while (!(await condition())) {
    const tookMs = performance.now() - begunMs;
    if (tookMs > deadlineMs && tookMs > deadlineMs * slowness()) {
      throw new Error(`not within ${deadlineMs} ms: ${what}${seen ? `; last seen: ${inspect(seen())}` : ''}`);
    }
    await delay(everyMs);
  }
}

/** The result of the promise, or an error after the deadline. */
export async function within<T>(what: string, promise: Promise<T>, deadlineMs = patienceMs): Promise<T> {
  const timer = new AbortController();
  const begunMs = performance.now();
  const wait = async (): Promise<never> => {
    while (performance.now() - begunMs < deadlineMs * slowness())
      await delay(deadlineMs, undefined, { signal: timer.signal });
    throw new Error(`not within ${deadlineMs} ms: ${what}`);
  };
  const late = wait();
  late.catch(() => undefined); // cancelled below
  try {
    return await Promise.race([promise, late]);
  } finally {
    timer.abort();
  }
}
