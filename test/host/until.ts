/** Waits until the condition holds; fails when it does not within the deadline. */
export async function until(what: string, condition: () => boolean, deadlineMs = 60_000): Promise<void> {
  const end = Date.now() + deadlineMs;
  while (!condition()) {
    if (Date.now() > end) throw new Error(`waited ${deadlineMs} ms in vain for: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
