import type { Writable } from 'node:stream';

interface Source<T> {
  /** The full message, for a peer that has missed changes. */
  readonly snapshot: () => T;
  /** Calls the listener at every change until the returned function is called. */
  readonly subscribe: (listener: (change: T) => void) => () => void;
  /** Ends the stream without an error. */
  readonly closing: AbortSignal;
  /** Ends the stream with an error, when the snapshot can't be made. */
  readonly fail: (error: unknown) => void;
}

/**
 * Sends the snapshot, then each change, until the peer or the server ends it.
 *
 * A slow peer costs no memory: changes are dropped while its buffer is full, and the snapshot is sent again when it has
 * room.
 */
export function streamLatest<T>(call: Writable, { snapshot, subscribe, closing, fail }: Source<T>): void {
  let full = false;
  let missed = false;
  const send = (message: T): void => {
    if (full) missed = true;
    else full = !call.write(message);
  };

  call.on('drain', () => {
    full = false;
    if (!missed) return;
    missed = false;
    try {
      send(snapshot());
    } catch (error) {
      fail(error);
    }
  });

  const unsubscribe = subscribe(send);
  const stop = (): void => {
    unsubscribe();
    closing.removeEventListener('abort', end);
  };
  const end = (): void => {
    stop();
    call.end();
  };
  closing.addEventListener('abort', end);
  for (const event of ['cancelled', 'close', 'error']) call.on(event, stop);

  send(snapshot());
  if (closing.aborted) end();
}
