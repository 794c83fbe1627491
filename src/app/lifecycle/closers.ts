import { CpusetdError } from '../../core/errors';

type Closer = () => void | Promise<void>;

/** Has the closer called at the end. */
export type OnClose = (closer: Closer) => void;

/** Time for all closers together; calls in flight get 20 s of it. The units in deploy/ let systemd wait longer. */
export const CLOSE_MS = 60_000;

/**
 * Runs `work`, then closes what it opened, last opened first, also when it threw. A closer that fails does not keep
 * the others from running; the first failure is thrown at the end. After `deadlineMs` no closer is waited for any more:
 * the others are called, and DEADLINE_EXCEEDED is thrown unless a closer failed before.
 */
export async function withClosers<T>(
  work: (onClose: OnClose) => Promise<T>,
  { deadlineMs = CLOSE_MS }: { readonly deadlineMs?: number } = {},
): Promise<T> {
  const closers: Closer[] = [];
  let result: T;
  try {
    result = await work((closer) => void closers.push(closer));
  } catch (error) {
    await closeAll(closers, deadlineMs).catch(() => undefined); // the caller gets the reason for the end
    throw error;
  }
  await closeAll(closers, deadlineMs);
  return result;
}

async function closeAll(closers: Closer[], deadlineMs: number): Promise<void> {
  const failures: unknown[] = [];
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => {
    const late = new CpusetdError('DEADLINE_EXCEEDED', `not everything was closed within ${deadlineMs / 1000} s`);
    timer = setTimeout(() => reject(late), deadlineMs);
  });
  deadline.catch(() => undefined);
  for (const close of closers.reverse()) {
    try {
      const closing = close();
      if (closing) await Promise.race([closing, deadline]);
    } catch (error) {
      failures.push(error);
    }
  }
  clearTimeout(timer);
  if (failures.length > 0) throw failures[0];
}
