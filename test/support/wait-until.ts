import { setTimeout as delay } from 'node:timers/promises';
import { inspect } from 'node:util';

/** The deadline of all waits in tests. It is far above the usual time, also on a slow and busy machine. */
export const patienceMs = Number(process.env['CPUSETD_TEST_PATIENCE_MS'] ?? 60_000);

/** Asks again and again until the answer is not undefined. It is for states that no event announces. `false` would be an answer: see waitUntil. */
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
  const end = performance.now() + deadlineMs;
  while (!(await condition())) {
    if (performance.now() > end) {
      throw new Error(`not within ${deadlineMs} ms: ${what}${seen ? `; last seen: ${inspect(seen())}` : ''}`);
    }
    await delay(everyMs);
  }
}

/** The result of the promise, or an error after the deadline. */
export async function within<T>(what: string, promise: Promise<T>, deadlineMs = patienceMs): Promise<T> {
  const timer = new AbortController();
  const late = delay(deadlineMs, undefined, { signal: timer.signal }).then(() => {
    throw new Error(`not within ${deadlineMs} ms: ${what}`);
  });
  late.catch(() => undefined); // cancelled below
  try {
    return await Promise.race([promise, late]);
  } finally {
    timer.abort();
  }
}
