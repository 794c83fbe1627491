import { setTimeout as delay } from 'node:timers/promises';

import type { Alarms } from '../alarms/alarms';

export interface KeepListeningParts<Listening> {
  /** The option that names the address. */
  readonly option: string;
  /** Throws as long as the address can't be had. */
  readonly listen: () => Promise<Listening>;
  /** Why not, for the operator. */
  readonly explain: (error: unknown) => string;
  readonly close: (listening: Listening) => Promise<void>;
  readonly alarms: Pick<Alarms, 'update' | 'clear'>;
  readonly firstDelayMs?: number;
}

const FIRST_DELAY_MS = 1_000;
const LONGEST_DELAY_MS = 30_000;

/**
 * Listens, and where that is not possible tries again and again, with pauses that grow: containers are pinned already, and nobody who
 * has taken a port is a reason to end that. An alarm tells of it until it succeeds. Resolves after the first try.
 *
 * Returns what ends it: the tries, or what listens.
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
