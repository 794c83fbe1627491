import type { Duplex } from 'node:stream';
import {
  ConfigureRequest,
  ConfigureResponse,
  RegisterPluginRequest,
  SynchronizeResponse,
} from '../../gen/nri/v1alpha1/nri';
import {
  Mux,
  StatusCode,
  TtrpcClient,
  TtrpcError,
  TtrpcServer,
  type CloseReason,
  type TtrpcHandler,
  type TtrpcRequest,
} from '../wire';
import type { FailurePolicy } from './failure-policy';
import * as protocol from './protocol';

/** Takes log lines: constant texts, with the facts as fields. A pino logger and a Console are one. */
export interface NriLog {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/**
 * A plugin that reads and writes the bytes of its messages itself. It can decode only the fields that it
 * needs, while the typed handlers of `runNriPlugin` get whole messages.
 */
export interface RawPlugin {
  /** Events to subscribe to. */
  readonly events: readonly protocol.EventMethod[];
  /**
   * Answers by the name of the method: those of `events`, and `StateChange`, which carries most of them before NRI
   * 0.12. Every other method is answered with UNIMPLEMENTED: on that code, and on no other, a runtime falls back to
   * StateChange.
   */
  readonly methods: Readonly<Record<string, TtrpcHandler>>;
  /** Begins to read a list of all pods and containers. */
  openSynchronization(): SynchronizationReader;
  /** Takes the plugin's configuration, which the runtime reads from a file; empty without one. */
  configure?(config: string, runtime: protocol.RuntimeInfo): void | Promise<void>;
  /** The runtime announces its end. */
  shutdown?(): void;
}

/** Reads one list of all pods and containers, which may come in pieces. */
export interface SynchronizationReader {
  /** Takes one piece, a SynchronizeRequest; true when more of them follow. */
  add(request: TtrpcRequest): boolean;
  /** Gives the SynchronizeResponse to the whole. */
  answer(request: TtrpcRequest): Uint8Array | Promise<Uint8Array>;
}

/** The options of one connection. */
export interface NriSessionOptions {
  /** Name to register with: letters, digits and `_.+-`. */
  readonly name: string;
  /** Two digits, as text; runtimes call their plugins in this order. */
  readonly index: string;
  readonly plugin: RawPlugin;
  readonly log: NriLog;
  /** Receives each new phase, and the phase once more when the runtime has described itself. */
  readonly onProgress: (phase: 'registered' | 'synchronized', runtime: protocol.RuntimeInfo | undefined) => void;
  /** Time for the runtime to begin Synchronize after the registration, in ms. Default: 30000. */
  readonly synchronizeWithinMs?: number | undefined;
  /** Default: none is sent. */
  readonly failurePolicy?: FailurePolicy | undefined;
  /** Names of the settings in errors for the operator. Default: the names of these options. */
  readonly settings?: SettingNames | undefined;
}

/** The names under which an operator sets these options, for example flags of a command line. */
export interface SettingNames {
  readonly socketPath: string;
  readonly name: string;
  readonly index: string;
}

export const OPTION_NAMES: SettingNames = { socketPath: 'socketPath', name: 'name', index: 'index' };

/**
 * Maximum wait for the answer to the registration: the runtime registers one plugin at a time, and waits 5 s for a
 * silent one.
 */
const REGISTRATION_TIMEOUT_MS = 30_000;

/**
 * Default of `synchronizeWithinMs`. A runtime begins at once; a shorter time would make a slow one slower, by
 * connecting again.
 */
const SYNCHRONIZE_WITHIN_MS = 30_000;

/**
 * The reason where Synchronize never comes: runtimes before NRI 0.7 can't send one that is too long, and keep the
 * connection.
 */
const NEVER_SYNCHRONIZED =
  'the runtime has not sent its containers, though we are registered; its log says why. "message too long" means ' +
  'that the annotations of all pods together are more than it can send (16 MiB before containerd 2.0): find the pods with long ' +
  'annotations and delete them';

/** An answer that takes this part of the timeout is logged: at the whole of it the runtime drops the plugin. */
const SLOW_FRACTION = 0.8;

const EMPTY = new Uint8Array(0);

/** The answer to a piece of Synchronize before the last: the runtime ends the session when it has updates. */
const MORE_TO_COME = SynchronizeResponse.encode({ update: [], more: true }).finish();

/**
 * One connection to the runtime, from registration to its end. Owns the socket.
 *
 * Requests may come at the same time, though a runtime sends one after the other. The session never waits for the
 * runtime while the runtime waits for it.
 */
export class NriSession {
  /** Settles with the reason, written for the operator, when the socket is closed. */
  readonly closed: Promise<string>;
  private readonly mux: Mux;
  private runtime: protocol.RuntimeInfo | undefined;
  private phase: 'connected' | 'registered' | 'synchronized' = 'connected';
  private synchronization: { readonly reader: SynchronizationReader; readonly deadline: SharedDeadline } | undefined;
  private readonly runtimeClient: TtrpcClient;
  /** Requests that the plugin has not answered. */
  private openRequests = 0;
  private closingBecause: string | undefined;
  private hasEnded = false;
  private synchronizeTimer: NodeJS.Timeout | undefined;

  /** Takes over a connected socket and registers. */
  constructor(
    socket: Duplex,
    private readonly options: NriSessionOptions,
  ) {
    this.mux = new Mux(socket);
    this.closed = this.mux.closed.then((reason) => {
      this.hasEnded = true;
      clearTimeout(this.synchronizeTimer);
      return this.explainEnd(reason);
    });
    // The server first: Configure may come before the answer to RegisterPlugin.
    new TtrpcServer(this.mux.open(protocol.PLUGIN_CONNECTION), this.methods(), {
      onHandlerError: (err, { method }) => options.log.error({ err, method }, 'answering the runtime failed'),
    });
    this.runtimeClient = new TtrpcClient(this.mux.open(protocol.RUNTIME_CONNECTION));
    this.register().catch((err: unknown) => {
      options.log.error({ err }, 'registering with the runtime failed');
      this.close('registering with the runtime failed; the log says why');
    });
  }

  /** Ends the session; requests that wait for the plugin still get their answers, within the runtime's timeout. */
  close(because: string): void {
    this.closingBecause ??= because;
    if (this.openRequests === 0) {
      this.mux.close(this.closingBecause);
      return;
    }
    const timer = setTimeout(() => this.mux.close(because), this.requestTimeoutMs);
    this.mux.closed.finally(() => clearTimeout(timer)).catch(() => undefined); // `closed` has the reason
  }

  private methods(): Record<string, Record<string, TtrpcHandler>> {
    const { methods } = this.options.plugin;
    return {
      [protocol.PLUGIN_SERVICE]: {
        ...Object.fromEntries(
          Object.entries(methods).map(([method, handler]) => [method, (request) => this.answer(handler, request)]),
        ),
        Configure: (request) => this.configure(request),
        Synchronize: (request) => this.synchronize(request),
        Shutdown: () => this.announceShutdown(),
      },
    };
  }

  /** Calls a method of the runtime. Rejects with TtrpcError. */
  callRuntime(method: string, payload: Uint8Array, timeoutMs = this.requestTimeoutMs): Promise<Uint8Array> {
    return this.runtimeClient.call(protocol.RUNTIME_SERVICE, method, payload, { timeoutMs });
  }

  private async register(): Promise<void> {
    const { name, index } = this.options;
    const request = RegisterPluginRequest.create({
      pluginName: name,
      pluginIdx: index,
      NRIVersion: protocol.NRI_VERSION,
    });
    const payload = RegisterPluginRequest.encode(request).finish();
    try {
      await this.callRuntime('RegisterPlugin', payload, REGISTRATION_TIMEOUT_MS);
      this.advance('registered');
    } catch (error) {
      // The runtime leaves the socket of a plugin it refused open.
      this.close(explainRegistrationError(error, this.options));
    }
  }

  private configure({ payload }: TtrpcRequest): Uint8Array | Promise<Uint8Array> {
    const { plugin, failurePolicy, log } = this.options;
    const request = ConfigureRequest.decode(payload);
    this.runtime = protocol.readRuntimeInfo(request);
    log.info({ runtime: this.runtime }, 'the runtime introduced itself');
    this.advance('registered');
    const subscribe = (): Uint8Array =>
      ConfigureResponse.encode(
        ConfigureResponse.create({ events: protocol.maskOf(plugin.events), ...(failurePolicy && { failurePolicy }) }),
      ).finish();
    const configured = plugin.configure?.(request.config, this.runtime);
    return configured instanceof Promise ? configured.then(subscribe) : subscribe();
  }

  private synchronize(request: TtrpcRequest): Uint8Array | Promise<Uint8Array> {
    const synchronization = (this.synchronization ??= {
      reader: this.options.plugin.openSynchronization(),
      deadline: new SharedDeadline(),
    });
    synchronization.deadline.add(performance.now(), request.timeoutMs ?? this.requestTimeoutMs);
    const hasMore = synchronization.reader.add(request);
    clearTimeout(this.synchronizeTimer);
    if (hasMore) {
      this.waitForSynchronization();
      return MORE_TO_COME;
    }
    this.synchronization = undefined;

    const onAnswered = () => {
      // Runtimes before NRI 0.7 keep the connection when they have stopped waiting, and never send an event on it.
      if (synchronization.deadline.isPast(performance.now())) {
        this.close('our answer to Synchronize came too late; raise the plugin request timeout of the runtime');
      } else this.advance('synchronized');
    };
    const onFailed = () => this.close('synchronizing with the runtime failed; the log says why');
    return this.answer((whole) => synchronization.reader.answer(whole), request, onAnswered, onFailed);
  }

  private announceShutdown(): Uint8Array {
    this.options.log.info({}, 'the runtime announced its shutdown');
    this.options.plugin.shutdown?.();
    return EMPTY;
  }

  /** Calls the plugin, and is synchronous where the plugin is. */
  private answer(
    handler: TtrpcHandler,
    request: TtrpcRequest,
    onAnswered?: () => void,
    onFailed?: () => void,
  ): Uint8Array | Promise<Uint8Array> {
    const startMs = performance.now();
    this.openRequests++;
    const succeed = (payload: Uint8Array): Uint8Array => {
      this.leave(request, startMs);
      onAnswered?.();
      return payload;
    };
    const fail = (error: unknown): never => {
      this.leave(request, startMs);
      onFailed?.();
      throw error;
    };
    try {
      const answer = handler(request);
      return answer instanceof Promise ? answer.then(succeed, fail) : succeed(answer);
    } catch (error) {
      return fail(error);
    }
  }

  private leave({ method, timeoutMs = this.requestTimeoutMs }: TtrpcRequest, startMs: number): void {
    const tookMs = performance.now() - startMs;
    if (tookMs > SLOW_FRACTION * timeoutMs) {
      this.options.log.warn(
        { method, tookMs, timeoutMs },
        'an answer took most of the time the runtime grants, or more',
      );
    }
    this.openRequests--;
    // After this turn: the answer is sent when we have returned it.
    if (this.closingBecause !== undefined) setImmediate(() => this.close(this.closingBecause ?? ''));
  }

  /**
   * Sets the phase. It never goes back: the answer to RegisterPlugin may come after the first events. It does not
   * change after the end: an answer to Synchronize may come later than that.
   */
  private advance(phase: 'registered' | 'synchronized'): void {
    if (this.hasEnded) return;
    const furthest = this.phase === 'synchronized' ? this.phase : phase;
    if (this.phase === 'connected' && phase === 'registered') this.waitForSynchronization();
    this.phase = furthest;
    this.options.onProgress(furthest, this.runtime);
  }

  /** Starts the timer for the beginning of Synchronize, or for its next piece. */
  private waitForSynchronization(): void {
    const { synchronizeWithinMs = SYNCHRONIZE_WITHIN_MS } = this.options;
    this.synchronizeTimer = setTimeout(() => this.close(NEVER_SYNCHRONIZED), synchronizeWithinMs);
  }

  private explainEnd({ by, because }: CloseReason): string {
    if (by === 'us') return because;
    if (this.phase === 'synchronized') return `${because}: the runtime stopped, or dropped us for a late answer`;
    return `${because} while we were ${this.phase}, not yet synchronized; the runtime's log says why`;
  }

  private get requestTimeoutMs(): number {
    return this.runtime?.requestTimeoutMs ?? protocol.DEFAULT_REQUEST_TIMEOUT_MS;
  }
}

/** The deadline of all pieces of one Synchronize: the earliest of theirs. */
export class SharedDeadline {
  private deadlineMs = Infinity;

  /** Adds a piece that came at nowMs, with timeoutMs left for its answer. */
  add(nowMs: number, timeoutMs: number): void {
    this.deadlineMs = Math.min(this.deadlineMs, nowMs + timeoutMs);
  }

  /** True from the deadline on. */
  isPast(nowMs: number): boolean {
    return nowMs >= this.deadlineMs;
  }
}

/** Returns the reason of a failed registration for the operator, with the rule and the remedy. */
function explainRegistrationError(error: unknown, options: NriSessionOptions): string {
  const { name, index, settings = OPTION_NAMES } = options;
  const text = error instanceof Error ? error.message : String(error);
  if (error instanceof TtrpcError && error.code === StatusCode.DEADLINE_EXCEEDED) {
    return `the runtime did not answer our registration: ${text}; another plugin may block it`;
  }
  return (
    `the runtime refused the plugin "${name}" with index "${index}": ${text}; ` +
    `an index has two digits (${settings.index}), a name consists of letters, digits and _.+- (${settings.name})`
  );
}
