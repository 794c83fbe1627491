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
import * as protocol from './protocol';

/** Takes log lines: a text that stays the same, and the facts of the line as fields. A pino logger is one. */
export interface NriLog {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/**
 * A plugin that reads and writes the bytes of its messages itself. It decodes only the fields that it needs, which is what
 * the typed handlers of `runNriPlugin` can't do.
 */
export interface RawPlugin {
  /** Events to subscribe to. */
  readonly events: readonly protocol.EventMethod[];
  /**
   * Answers by the name of the method: those of `events`, and `StateChange`, with which runtimes before NRI 0.12 tell most of
   * them. Every other method is answered with UNIMPLEMENTED: on that code, and on no other, a runtime falls back to StateChange.
   */
  readonly methods: Readonly<Record<string, TtrpcHandler>>;
  /** Begins to read a list of all pods and containers. */
  openSynchronization(): SynchronizationReader;
  /** Takes the plugin's own configuration, which the runtime has found in a file of its own. */
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

export interface NriSessionOptions {
  /** Name to register with: letters, digits and `_.+-`. */
  readonly name: string;
  /** Two digits, as text; runtimes call their plugins in this order. */
  readonly index: string;
  readonly plugin: RawPlugin;
  readonly log: NriLog;
  /** Receives every step forward, and one more when the runtime has said who it is. */
  readonly onProgress: (phase: 'registered' | 'synchronized', runtime: protocol.RuntimeInfo | undefined) => void;
  /** Time for the runtime to synchronize with a plugin that it has registered. Default: 30 s. */
  readonly synchronizeWithinMs?: number | undefined;
  /** Names of the settings in errors for the operator. Default: the names of these options. */
  readonly settings?: SettingNames | undefined;
}

/** The names under which an operator sets these options, say as flags of a command line. */
export interface SettingNames {
  readonly socketPath: string;
  readonly name: string;
  readonly index: string;
}

export const OPTION_NAMES: SettingNames = { socketPath: 'socketPath', name: 'name', index: 'index' };

/** The runtime registers one plugin at a time, and waits 5 s for a silent one in front of us. */
const REGISTRATION_TIMEOUT_MS = 30_000;

/** A runtime begins at once. Given up too soon, it may be the one that is slow: that holds it up even longer. */
const SYNCHRONIZE_WITHIN_MS = 30_000;

/** Runtimes before NRI 0.7 do not split the message, do not send one that is too long, and keep the connection all the same. */
const NEVER_SYNCHRONIZED =
  'the runtime has not told which containers there are, though we are registered; its log says why. "message too long" means ' +
  'that the annotations of all pods together are more than it can send (16 MiB before containerd 2.0): find the pods with long ' +
  'annotations and delete them';

/** An answer that takes this part of the timeout is logged: at the whole of it the runtime drops the plugin. */
const SLOW_FRACTION = 0.8;

const EMPTY = new Uint8Array(0);

/** The answer to a piece of a Synchronize request that has more to come: updates would end the session here. */
const MORE_TO_COME = SynchronizeResponse.encode({ update: [], more: true }).finish();

/**
 * One connection to the runtime, from registration to its end. Owns the socket.
 *
 * The runtime asks one thing at a time; the session relies on that nowhere, and never waits for an answer of the
 * runtime while it owes one.
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
  private patience: NodeJS.Timeout | undefined;

  /** Takes over a connected socket and registers; nothing needs to be awaited before the first event. */
  constructor(
    socket: Duplex,
    private readonly options: NriSessionOptions,
  ) {
    this.mux = new Mux(socket);
    this.closed = this.mux.closed.then((reason) => {
      this.hasEnded = true;
      clearTimeout(this.patience);
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

  /** Ends the session; a request whose answer is being worked out still gets it, within the runtime's patience. */
  close(because: string): void {
    this.closingBecause ??= because;
    if (this.openRequests === 0) {
      this.mux.close(this.closingBecause);
      return;
    }
    const timer = setTimeout(() => this.mux.close(because), this.requestTimeoutMs);
    this.mux.closed.finally(() => clearTimeout(timer)).catch(() => undefined); // `closed` tells why
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
    const { plugin, log } = this.options;
    const request = ConfigureRequest.decode(payload);
    this.runtime = protocol.readRuntimeInfo(request);
    log.info({ runtime: this.runtime }, 'the runtime introduced itself');
    this.advance('registered');
    const subscribe = (): Uint8Array =>
      ConfigureResponse.encode(ConfigureResponse.create({ events: protocol.maskOf(plugin.events) })).finish();
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
    clearTimeout(this.patience);
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

  /** Asks the plugin, and stays synchronous when it does. */
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
   * Never backwards: the answer to RegisterPlugin may come when the first events have passed. And not after the end: the
   * handler may have worked on Synchronize for longer than the connection lived.
   */
  private advance(phase: 'registered' | 'synchronized'): void {
    if (this.hasEnded) return;
    const furthest = this.phase === 'synchronized' ? this.phase : phase;
    if (this.phase === 'connected' && phase === 'registered') this.waitForSynchronization();
    this.phase = furthest;
    this.options.onProgress(furthest, this.runtime);
  }

  /** For its beginning, or for the next piece of it. */
  private waitForSynchronization(): void {
    const { synchronizeWithinMs = SYNCHRONIZE_WITHIN_MS } = this.options;
    this.patience = setTimeout(() => this.close(NEVER_SYNCHRONIZED), synchronizeWithinMs);
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

/** The deadline that all pieces of one Synchronize share: the earliest of theirs. */
export class SharedDeadline {
  private deadlineMs = Infinity;

  /** Counts a piece that came at nowMs with timeoutMs left for its answer. */
  add(nowMs: number, timeoutMs: number): void {
    this.deadlineMs = Math.min(this.deadlineMs, nowMs + timeoutMs);
  }

  isPast(nowMs: number): boolean {
    return nowMs >= this.deadlineMs;
  }
}

/** Says for the operator why registration failed, with the rule and the remedy. */
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
