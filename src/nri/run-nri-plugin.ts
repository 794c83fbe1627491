import type { Socket } from 'node:net';
import type { Logger } from 'pino';

import { NriSession, type RuntimeHandler } from './nri-session';
import { nextState, type PluginState } from './plugin-state';
import { connectSocket } from './socket/connect-socket';
import { explainConnectError } from './socket/explain-connect-error';
import { nextDelayMs } from './socket/next-delay';
import { waitForRetry } from './socket/wait-for-retry';

export interface NriPluginOptions {
  readonly socketPath: string;
  readonly pluginName: string;
  /** Two digits, as text. */
  readonly pluginIndex: string;
  readonly handler: RuntimeHandler;
  readonly log: Logger;
  /** Ends the plugin; the socket is closed at once, before anything else of the process ends. */
  readonly signal: AbortSignal;
  /** See `NriSessionOptions`. */
  readonly synchronizeWithinMs?: number;
  /** Told of every change of the state, never twice of the same. */
  readonly onState?: (state: PluginState) => void;
}

/**
 * Serves the runtime as an NRI plugin until the signal aborts, over as many connections as it takes: the socket may
 * appear late, and a restarted runtime starts from Synchronize again. Never rejects; what is wrong is in the state and
 * in the log.
 */
export async function runNriPlugin(options: NriPluginOptions): Promise<void> {
  const { socketPath, log, signal } = options;
  const publish = createPublisher(options);
  let delayMs: number | undefined;
  while (!signal.aborted) {
    const startMs = Date.now();
    const reason = await serveOnce(options, publish);
    publish({ phase: 'disconnected', reason });
    if (signal.aborted) break;
    delayMs = nextDelayMs(delayMs, Date.now() - startMs);
    log.debug({ socketPath, delayMs }, 'connecting to the runtime again after a pause');
    await waitForRetry({ socketPath, delayMs, signal });
  }
}

type Publish = (step: Omit<PluginState, 'sinceMs'>) => void;

/** One connection from its beginning to its end. Resolves with the reason of the end. */
async function serveOnce(options: NriPluginOptions, publish: Publish): Promise<string> {
  const { socketPath, signal } = options;
  publish({ phase: 'connecting', reason: `connecting to ${socketPath}` });
  let socket: Socket;
  try {
    socket = await connectSocket(socketPath);
  } catch (error) {
    return explainConnectError(error as NodeJS.ErrnoException, socketPath);
  }
  const session = new NriSession(socket, {
    ...options,
    onProgress: (phase, runtime) =>
      publish({ phase, reason: phase === 'registered' ? WAITING : SERVING, ...(runtime && { runtime }) }),
  });
  const stop = () => session.close('cpusetd is stopping');
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop);
  const reason = await session.closed;
  signal.removeEventListener('abort', stop);
  return reason;
}

const WAITING = 'registered; the runtime has not told yet which containers there are';
const SERVING = 'the runtime asks us about every container';

/** Keeps the current state, tells of changes, and logs what an operator wants to know tomorrow. */
function createPublisher({ log, onState }: NriPluginOptions): Publish {
  let state: PluginState = { phase: 'disconnected', sinceMs: Date.now(), reason: 'not started' };
  let loggedReason = '';
  return (step) => {
    const next = nextState(state, { ...(state.runtime && { runtime: state.runtime }), ...step }, Date.now());
    if (next === state) return;
    state = next;
    if (next.phase === 'disconnected' && next.reason !== loggedReason) {
      loggedReason = next.reason;
      log.warn({ reason: next.reason }, 'not connected to the runtime: new containers are not pinned');
    }
    if (next.phase === 'synchronized') {
      loggedReason = '';
      log.info({ runtime: next.runtime }, 'synchronized with the runtime');
    }
    try {
      onState?.(next);
    } catch (error) {
      // Whoever is told has no part in the connection.
      log.error({ err: error }, 'a change of the connection could not be told');
    }
  };
}
