type Closer = () => void | Promise<void>;

/** Has the closer called at the end. */
export type OnClose = (closer: Closer) => void;

/**
 * Runs `work`, then closes what it opened, last opened first, also when it threw. A closer that fails does not keep
 * the others from running; the first failure is thrown at the end.
 */
export async function withClosers<T>(work: (onClose: OnClose) => Promise<T>): Promise<T> {
  const closers: Closer[] = [];
  let result: T;
  try {
    result = await work((closer) => void closers.push(closer));
  } catch (error) {
    await closeAll(closers).catch(() => undefined); // the reason for the end is the one to tell
    throw error;
  }
  await closeAll(closers);
  return result;
}

async function closeAll(closers: Closer[]): Promise<void> {
  const failures: unknown[] = [];
  for (const close of closers.reverse()) {
    try {
      await close();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}
