import { setTimeout as delay } from 'node:timers/promises';
import type { AdminClient } from '../../admin/client/admin-client';
import { CpusetdError, type ErrorCode } from '../../core/errors';
import type { Screen } from './screen';

const RETRY_MS = 1_000;
/** It is not there, or does not answer. */
const AWAY: readonly ErrorCode[] = ['UNAVAILABLE', 'DEADLINE_EXCEEDED'];

export interface WatchParts {
  readonly adminSocket: string;
  readonly signal: AbortSignal;
  /** Absent where the output is no terminal: its reader learns of the end of the watch by the end of the command. */
  readonly screen: Screen | undefined;
}

/**
 * Follows the daemon until the signal aborts. On a screen it says that the daemon has gone, as in an upgrade, and goes
 * on with the next one. Throws the error of a daemon that was never there, and without a screen that of one that has
 * gone.
 */
export async function keepWatching(
  { adminSocket, signal, screen }: WatchParts,
  follow: (client: AdminClient) => Promise<void>,
): Promise<void> {
  const { connectAdmin } = await import('../../admin/client/admin-client');
  for (let wasThere = false; !signal.aborted;) {
    let client: AdminClient | undefined;
    try {
      client = await connectAdmin(adminSocket);
      wasThere = true;
      await follow(client);
      if (signal.aborted) return;
      throw new CpusetdError('UNAVAILABLE', 'cpusetd ended the watch: it is shutting down');
    } catch (error) {
      const hasGone = wasThere && error instanceof CpusetdError && AWAY.includes(error.code);
      if (!screen || !hasGone) throw error;
      await screen.refresh(`cpusetd is away, this is its last answer (${error.message})`);
    } finally {
      client?.close();
    }
    await delay(RETRY_MS, undefined, { signal }).catch(() => undefined);
  }
}
