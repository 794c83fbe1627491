import type { Logger } from 'pino';

/** Logs the first object of a collection that is left out, and no other: every list has it again. */
export function logFirstUnread(log: Logger, path: string): (because: string) => void {
  let isLogged = false;
  return (because) => {
    if (!isLogged)
      log.error({ path, because }, 'an object of the API server can’t be read and is left out, as are others like it');
    isLogged = true;
  };
}
