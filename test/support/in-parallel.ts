/** Calls `act` with 0 to `count - 1`, at most `most` of them at once. Rejects with the first failure. */
export async function inParallel(most: number, count: number, act: (n: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < count) await act(next++);
  };
  await Promise.all(Array.from({ length: Math.min(most, count) }, work));
}
