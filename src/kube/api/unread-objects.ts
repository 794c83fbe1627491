import type { Logger } from 'pino';

/** Logs the first object of a collection that is left out, and no other: every list has it again. */
export function tellOfUnread(log: Logger, path: string): (because: string) => void {
  let isTold = false;
  return (because) => {
    if (!isTold)
      log.error({ path, because }, 'an object of the API server can’t be read and is left out, as are others like it');
    isTold = true;
  };
}
