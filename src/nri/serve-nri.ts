import { Socket } from 'node:net';

import { ContainerUpdate, UpdateContainersRequest, UpdateContainersResponse } from '../../gen/nri/v1alpha1/nri';
import type { ContainerEviction, DeepPartial } from '../../gen/nri/v1alpha1/nri';
import { BackOff } from '../net/back-off';
import { connectTo } from '../net/connect-unix';
import { StatusCode, TtrpcError } from '../wire';
import type { FailurePolicy } from './failure-policy';
import { NriSession, OPTION_NAMES, type NriLog, type RawPlugin, type SettingNames } from './nri-session';
import type { RuntimeInfo } from './protocol';
import { explainConnectError, waitForRetry } from './reconnect';

/** The options of every plugin, typed or raw. */
export interface ConnectionOptions {
  /** Name to register with: letters, digits and `_.+-`. */
  readonly name: string;
  /** Two digits, as text; runtimes call their plugins in this order. */
  readonly index: string;
  /**
   * The runtime's socket, by its path or as a file descriptor that is connected already. Default:
   * /var/run/nri/nri.sock.
   */
  readonly socketPath?: string | number | undefined;
  /** Ends the plugin; the socket is closed at once, or after the answers that are due. */
  readonly signal: AbortSignal;
  /** Default: nothing is logged. */
  readonly log?: NriLog | undefined;
  /** Receives every change of the state, never twice the same. */
  readonly onState?: ((state: PluginState) => void) | undefined;
  /** Time for the runtime to begin Synchronize after the registration, in ms. Default: 30000. */
  readonly synchronizeWithinMs?: number | undefined;
  /** Default: none is sent, and the runtime drops a plugin that it gets no answer from, and goes on without it. */
  readonly failurePolicy?: FailurePolicy | undefined;
  /** Names of the settings in errors for the operator. Default: the names of these options. */
  readonly settings?: SettingNames | undefined;
  /** Text of the log line of a lost connection. Default: "not connected to the runtime". */
  readonly disconnectedText?: string | undefined;
}

/** The options of a plugin that reads and writes the bytes of its messages itself. */
export interface ServeOptions extends ConnectionOptions {
  readonly plugin: RawPlugin;
}

/**
 * Phase of the session with the runtime. Events come in `synchronized` only.
 */
export type PluginPhase = 'disconnected' | 'connecting' | 'registered' | 'synchronized';

/** The session with the runtime, for health. */
export interface PluginState {
  readonly phase: PluginPhase;
  /**
   * The beginning of the phase, in ms since 1970; while one attempt follows another, the end of the last connection.
   */
  readonly sinceMs: number;
  /** The cause, written for the operator. */
  readonly reason: string;
  /** The runtime that is, or was last, connected. */
  readonly runtime?: RuntimeInfo;
}

/** A plugin that runs. */
export interface NriPlugin {
  /** Resolves after the signal was aborted and the socket is closed; never rejects. */
  readonly ended: Promise<void>;
  /** Ends the connection and makes a new one: the runtime then describes all its containers anew. */
  reconnect(because: string): void;
  /**
   * Updates or evicts containers without an event (an unsolicited update). Resolves with the updates that failed.
   *
   * Rejects with TtrpcError: UNAVAILABLE while the plugin is not synchronized, DEADLINE_EXCEEDED after the request
   * timeout of the runtime, RESOURCE_EXHAUSTED for more than 4 MiB. Never wait for it in a handler: the runtime waits
   * for the handler. With NRI before 0.12.1 it can stop the runtime for good
   * (https://github.com/containerd/nri/pull/301).
   */
  updateContainers(
    update: readonly DeepPartial<ContainerUpdate>[],
    evict?: readonly DeepPartial<ContainerEviction>[],
  ): Promise<ContainerUpdate[]>;
}

/** The path at which containerd and CRI-O listen unless they are configured otherwise. */
export const DEFAULT_SOCKET_PATH = '/var/run/nri/nri.sock';

/** Delays between attempts. They are short: containers start without the plugin while it is not connected. */
const RETRY_DELAYS = { leastMs: 100, mostMs: 3000, jitter: 0 };

/** After a session of this length the delays begin anew. */
const GOOD_SESSION_MS = 10_000;

/** Returns a function that gives the delay until the next attempt, in ms, after a session of a given length. */
export function createRetryDelays(): (lastedMs: number) => number {
  const backOff = new BackOff(RETRY_DELAYS);
  return (lastedMs) => {
    if (lastedMs >= GOOD_SESSION_MS) backOff.reset();
    return backOff.next();
  };
}

const WAITING = 'registered; the runtime has not sent its containers yet';
const SERVING = 'the runtime asks us about every container';

const NO_LOG: NriLog = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

/**
 * Serves the runtime with a raw plugin until the signal aborts, over as many connections as it takes: the socket may
 * appear late, and a restarted runtime starts from Synchronize again. Faults are in the state and in the log. A file
 * descriptor is one connection: the plugin ends with it.
 */
export function serveNri(options: ServeOptions): NriPlugin {
  const server = new Server(options);
  return {
    ended: server.serve(),
    reconnect: (because) => server.reconnect(because),
    updateContainers: (update, evict = []) => server.updateContainers(update, evict),
  };
}

class Server {
  private session: NriSession | undefined;
  private state: PluginState = { phase: 'disconnected', sinceMs: Date.now(), reason: 'not started' };
  private loggedReason = '';
  private isGivenUp = false;
  private readonly log: NriLog;
  private readonly socketPath: string | number;

  constructor(private readonly options: ServeOptions) {
    this.log = options.log ?? NO_LOG;
    this.socketPath = options.socketPath ?? DEFAULT_SOCKET_PATH;
  }

  async serve(): Promise<void> {
    const { socketPath, log } = this;
    const { signal } = this.options;
    const nextDelayMs = createRetryDelays();
    while (!signal.aborted) {
      const startMs = Date.now();
      this.publish({ phase: 'disconnected', reason: await this.serveOnce() });
      if (signal.aborted || typeof socketPath === 'number') break;
      if (this.isGivenUp) {
        this.isGivenUp = false;
        continue;
      }
      const delayMs = nextDelayMs(Date.now() - startMs);
      log.debug({ socketPath, delayMs }, 'connecting to the runtime again after a pause');
      await waitForRetry({ socketPath, delayMs, signal });
    }
  }

  async updateContainers(
    update: readonly DeepPartial<ContainerUpdate>[],
    evict: readonly DeepPartial<ContainerEviction>[],
  ): Promise<ContainerUpdate[]> {
    const { session, state } = this;
    if (!session || state.phase !== 'synchronized')
      throw new TtrpcError(StatusCode.UNAVAILABLE, `the plugin is not synchronized with the runtime: ${state.reason}`);
    const request = UpdateContainersRequest.create({ update: [...update], evict: [...evict] });
    const payload = UpdateContainersRequest.encode(request).finish();
    return UpdateContainersResponse.decode(await session.callRuntime('UpdateContainers', payload)).failed;
  }

  /** Serves one connection. Resolves with the reason of its end. */
  private async serveOnce(): Promise<string> {
    const { socketPath, log } = this;
    const { signal, name, settings = OPTION_NAMES } = this.options;
    const place = typeof socketPath === 'number' ? `file descriptor ${socketPath}` : socketPath;
    this.publish({ phase: 'connecting', reason: `connecting to ${place}` });
    let socket: Socket;
    try {
      socket = typeof socketPath === 'number' ? new Socket({ fd: socketPath }) : await connectTo(socketPath);
    } catch (error) {
      return explainConnectError(error as NodeJS.ErrnoException, place, settings.socketPath);
    }
    const session = new NriSession(socket, {
      ...this.options,
      log,
      onProgress: (phase, runtime) =>
        this.publish({ phase, reason: phase === 'registered' ? WAITING : SERVING, ...(runtime && { runtime }) }),
    });
    this.session = session;
    const stop = () => session.close(`${name} is stopping`);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop);
    const reason = await session.closed;
    signal.removeEventListener('abort', stop);
    this.session = undefined;
    return reason;
  }

  reconnect(because: string): void {
    if (!this.session) return;
    this.isGivenUp = true;
    this.session.close(because);
  }

  /** Sets the state, passes changes on, and logs a lost connection once and each synchronization. */
  private publish(step: Omit<PluginState, 'sinceMs'>): void {
    const { log, state } = this;
    const { onState, disconnectedText = 'not connected to the runtime' } = this.options;
    const next = nextState(state, { ...(state.runtime && { runtime: state.runtime }), ...step }, Date.now());
    if (next === state) return;
    this.state = next;
    if (next.phase === 'disconnected' && next.reason !== this.loggedReason) {
      this.loggedReason = next.reason;
      log.warn({ reason: next.reason }, disconnectedText);
    }
    if (next.phase === 'synchronized') {
      this.loggedReason = '';
      log.info({ runtime: next.runtime }, 'synchronized with the runtime');
    }
    try {
      onState?.(next);
    } catch (error) {
      // The listener has no part in the connection.
      log.error({ err: error }, 'a change of the connection could not be reported');
    }
  }
}

/** The state after a step; the same object when nothing has changed. */
export function nextState(state: PluginState, step: Omit<PluginState, 'sinceMs'>, nowMs: number): PluginState {
  if (state.phase === step.phase && state.reason === step.reason && state.runtime === step.runtime) return state;
  const sameOutage = isDown(state.phase) && isDown(step.phase);
  return { ...step, sinceMs: sameOutage || state.phase === step.phase ? state.sinceMs : nowMs };
}

function isDown(phase: PluginPhase): boolean {
  return phase === 'disconnected' || phase === 'connecting';
}
