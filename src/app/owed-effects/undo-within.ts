/**
 * Undoes at the end of the daemon, in `ms` at most: what hangs delays nothing. The signal is aborted when the time is
 * over. Returns the reason for which something is left, which the next start undoes; undefined = nothing is.
 */
export async function undoWithin(
  ms: number,
  undo: (signal: AbortSignal) => Promise<string | undefined>,
  late: string,
): Promise<string | undefined> {
  const end = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(late), ms);
  });
  try {
    return await Promise.race([undo(end.signal), patience]);
  } finally {
    clearTimeout(timer);
    end.abort();
  }
}
