import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';

import { ConfigureRequest, ConfigureResponse, RegisterPluginRequest } from '../../gen/nri/v1alpha1/nri';
import type { RuntimeAnswer, RuntimeEvent } from '../core/model/events';
import { Mux, TtrpcClient, TtrpcServer, type CloseReason, type TtrpcHandler, type TtrpcRequest } from '../wire';
import * as protocol from './messages/protocol';
import { EVENT_METHODS, readEvent } from './messages/read-event';
import { canCarry, writeAnswer, writeMoreToCome } from './messages/write-answer';
import { explainRegistrationError, guard, refusal } from './status';
import { Synchronization } from './synchronization';

/** Decides; the session only carries. May answer at once, which is quickest, or by a promise. */
export interface RuntimeHandler {
  onEvent(event: RuntimeEvent): RuntimeAnswer | Promise<RuntimeAnswer>;
}

export interface NriSessionOptions {
  readonly pluginName: string;
  /** Two digits; runtimes call their plugins in this order. */
  readonly pluginIndex: string;
  readonly handler: RuntimeHandler;
  readonly log: Logger;
  /** Told of every step forward, and once more when the runtime has said who it is. */
  readonly onProgress: (phase: 'registered' | 'synchronized', runtime: protocol.RuntimeInfo | undefined) => void;
  /** Time for the runtime to synchronize with a plugin that it has registered. Default: 30 s. */
  readonly synchronizeWithinMs?: number | undefined;
}

/** The runtime registers one plugin at a time, and waits 5 s for a silent one in front of us. */
const REGISTRATION_TIMEOUT_MS = 30_000;

/** A runtime begins at once. Given up too soon, it may be the one that is slow: that holds it up even longer. */
const SYNCHRONIZE_WITHIN_MS = 30_000;

/** Runtimes before NRI 0.7 do not split the message, do not send one that is too long, and keep the connection all the same. */
const NEVER_SYNCHRONIZED =
  'the runtime has not told which containers there are, though we are registered; its log says why. "message too long" means ' +
  'that the annotations of all pods together are more than it can send (16 MiB before containerd 2.0): find the pods with long ' +
  'annotations and delete them';

/** From this part of the timeout on an answer is worth a line in the log: at the whole of it the runtime drops us. */
const SLOW_SHARE = 0.8;

const EMPTY = new Uint8Array(0);

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
  private synchronization: Synchronization | undefined;
  /** Requests that the handler has not answered. */
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
    this.register(new TtrpcClient(this.mux.open(protocol.RUNTIME_CONNECTION))).catch((err: unknown) => {
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
    const onEvent = guard((request) => this.passOn(request));
    return {
      [protocol.PLUGIN_SERVICE]: {
        ...Object.fromEntries(EVENT_METHODS.map((method) => [method, onEvent])),
        Configure: guard((request) => this.configure(request)),
        Synchronize: guard((request) => this.synchronize(request)),
        Shutdown: () => this.announceShutdown(),
      },
    };
  }

  private async register(runtime: TtrpcClient): Promise<void> {
    const { pluginName, pluginIndex } = this.options;
    const request = RegisterPluginRequest.create({
      pluginName,
      pluginIdx: pluginIndex,
      NRIVersion: protocol.NRI_VERSION,
    });
    const payload = RegisterPluginRequest.encode(request).finish();
    try {
      await runtime.call(protocol.RUNTIME_SERVICE, 'RegisterPlugin', payload, { timeoutMs: REGISTRATION_TIMEOUT_MS });
      this.advance('registered');
    } catch (error) {
      // The runtime leaves the socket of a plugin it refused open.
      this.close(explainRegistrationError(error, this.options));
    }
  }

  private configure({ payload }: TtrpcRequest): Uint8Array {
    this.runtime = protocol.readRuntimeInfo(ConfigureRequest.decode(payload));
    this.options.log.info({ runtime: this.runtime }, 'the runtime introduced itself');
    this.advance('registered');
    return ConfigureResponse.encode(ConfigureResponse.create({ events: protocol.EVENT_MASK })).finish();
  }

  private synchronize(request: TtrpcRequest): Uint8Array | Promise<Uint8Array> {
    const synchronization = (this.synchronization ??= new Synchronization());
    const timeoutMs = request.timeoutMs ?? this.requestTimeoutMs;
    const event = synchronization.add(request.payload, performance.now(), timeoutMs);
    clearTimeout(this.patience);
    if (event === undefined) {
      this.waitForSynchronization();
      return writeMoreToCome();
    }
    this.synchronization = undefined;

    const onAnswered = () => {
      if (synchronization.isLate(performance.now())) {
        this.close('our answer to Synchronize came too late; raise the plugin request timeout of the runtime');
      } else this.advance('synchronized');
    };
    const onFailed = () => this.close('synchronizing with the runtime failed; the log says why');
    return this.answer(event, request, onAnswered, onFailed);
  }

  private passOn(request: TtrpcRequest): Uint8Array | Promise<Uint8Array> {
    const event = readEvent(request.method, request.payload);
    return event === 'ignored' ? EMPTY : this.answer(event, request);
  }

  private announceShutdown(): Uint8Array {
    this.options.log.info('the runtime announced its shutdown');
    return EMPTY;
  }

  /** Asks the handler, and stays synchronous when it does. */
  private answer(
    event: RuntimeEvent,
    request: TtrpcRequest,
    onAnswered?: () => void,
    onFailed?: () => void,
  ): Uint8Array | Promise<Uint8Array> {
    const startMs = performance.now();
    this.openRequests++;
    const succeed = (answer: RuntimeAnswer): Uint8Array => {
      const payload = this.write(event, answer);
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
      const answer = this.options.handler.onEvent(event);
      return answer instanceof Promise ? answer.then(succeed).catch(fail) : succeed(answer);
    } catch (error) {
      return fail(error);
    }
  }

  private write(event: RuntimeEvent, answer: RuntimeAnswer): Uint8Array {
    if (answer.kind === 'refuse') throw refusal(answer);
    if (!canCarry(event, answer)) {
      this.options.log.warn({ event: event.kind }, 'part of an answer has no place in this message and is left out');
    }
    return writeAnswer(event, answer);
  }

  private leave({ method, timeoutMs = this.requestTimeoutMs }: TtrpcRequest, startMs: number): void {
    const tookMs = performance.now() - startMs;
    if (tookMs > SLOW_SHARE * timeoutMs) {
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
