import { setTimeout as delay } from 'node:timers/promises';

import type { Alarms } from '../alarms/alarms';

export interface KeepListeningParts<Listening> {
  /** The option that names the address. */
  readonly option: string;
  /** Throws when the address can't be listened on. */
  readonly listen: () => Promise<Listening>;
  /** Returns the reason for the operator. */
  readonly explain: (error: unknown) => string;
  readonly close: (listening: Listening) => Promise<void>;
  readonly alarms: Pick<Alarms, 'update' | 'clear'>;
  readonly firstDelayMs?: number;
}

const FIRST_DELAY_MS = 1_000;
const LONGEST_DELAY_MS = 30_000;

/**
 * Listens, and tries again with growing pauses when that fails: containers are pinned already, and a port that another
 * process has taken must not end that. An alarm lasts until it succeeds. Resolves after the first try.
 *
 * Returns a function that ends the tries, or closes the server.
 */
export async function keepListening<Listening>(parts: KeepListeningParts<Listening>): Promise<() => Promise<void>> {
  const { option, listen, explain, alarms, firstDelayMs = FIRST_DELAY_MS } = parts;
  const stop = new AbortController();
  const listenOnce = async (): Promise<Listening | undefined> => {
    try {
      const listening = await listen();
      alarms.clear('not-listening', option);
      return listening;
    } catch (error) {
      alarms.update('not-listening', option, explain(error));
      return undefined;
    }
  };
  const listenInTheEnd = async (): Promise<Listening | undefined> => {
    for (let delayMs = firstDelayMs; ; delayMs = Math.min(2 * delayMs, LONGEST_DELAY_MS)) {
      await delay(delayMs, undefined, { ref: false, signal: stop.signal }).catch(() => undefined);
      if (stop.signal.aborted) return undefined;
      const listening = await listenOnce();
      if (listening !== undefined) return listening;
    }
  };
  const first = await listenOnce();
  const listening = first === undefined ? listenInTheEnd() : Promise.resolve(first);
  return async () => {
    stop.abort();
    const open = await listening;
    if (open !== undefined) await parts.close(open);
  };
}
