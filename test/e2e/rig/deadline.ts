import { setTimeout as delay } from 'node:timers/promises';

/** How long the tests wait for anything before they call it missing. Far above what it takes, also on a slow and busy machine. */
export const patienceMs = Number(process.env['CPUSETD_TEST_PATIENCE_MS'] ?? 60_000);

/** Asks again and again until the answer is not undefined. For states that nothing announces. */
export async function poll<T>(
  what: string,
  ask: () => T | undefined | Promise<T | undefined>,
  deadlineMs = patienceMs,
  everyMs = 10,
): Promise<T> {
  const end = Date.now() + deadlineMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (Date.now() > end) throw new Error(`not within ${deadlineMs} ms: ${what}`);
    await delay(everyMs);
  }
}

/** Asks again and again until the condition holds. */
export async function waitUntil(
  what: string,
  condition: () => boolean | Promise<boolean>,
  deadlineMs = patienceMs,
): Promise<void> {
  await poll(what, async () => ((await condition()) ? true : undefined), deadlineMs);
}

/** The promise's outcome, or an error after the deadline. */
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
